# topo
