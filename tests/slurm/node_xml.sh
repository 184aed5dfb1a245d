# shellcheck shell=bash
# node_xml CORES: an hwloc XML of a node that no lab machine is. Two NUMA nodes, each with CORES cores, a NIC and four
# GPUs without links, which PCIe switches join to pairs that are no neighbours by address: 0-3, 1-2, 4-7, 5-6.

node_xml_cpuset() { printf 'cpuset="0x%08x" complete_cpuset="0x%08x" nodeset="0x%08x" complete_nodeset="0x%08x"' "$1" "$1" "$2" "$2"; }

node_xml_gp=1
node_xml_next() { node_xml_gp=$((node_xml_gp + 1)); }

# node_xml_device BUS CLASS VENDOR:DEVICE [NIC]
node_xml_device() {
  node_xml_next
  printf '<object type="PCIDev" gp_index="%d" os_index="%d" pci_busid="0000:%s:00.0" pci_type="%s [%s] [0000:0000] a1" pci_link_speed="31.5">\n' \
    "$node_xml_gp" $((16#$1 * 4096)) "$1" "$2" "$3"
  if [ -n "${4-}" ]; then
    node_xml_next
    printf '<object type="OSDev" gp_index="%d" name="%s" osdev_type="3"><info name="Port1State" value="4"/></object>\n' "$node_xml_gp" "$4"
  fi
  printf '</object>\n'
}

# node_xml_switch BUS GPU-BUS…
node_xml_switch() {
  local bus=$1
  shift
  node_xml_next
  printf '<object type="Bridge" gp_index="%d" os_index="%d" bridge_type="1-1" depth="1" bridge_pci="0000:[%s-%s]" pci_busid="0000:%s:01.0" pci_type="0604 [1000:c010] [0000:0000] b0" pci_link_speed="31.5">\n' \
    "$node_xml_gp" $((16#$bus * 4096 + 16)) "$1" "$2" "$bus"
  node_xml_device "$1" 0302 10de:1eb8
  node_xml_device "$2" 0302 10de:1eb8
  printf '</object>\n'
}

# node_xml_numa INDEX BUS CORES GPU-BUS×4: pairs are the first and the last, and the two between.
node_xml_numa() {
  local numa=$1 bus=$2 cores=$3 core mask=$((((1 << $3) - 1) << $1 * $3))
  shift 3
  node_xml_next
  printf '<object type="Group" gp_index="%d" %s kind="1001" subkind="0">\n' "$node_xml_gp" "$(node_xml_cpuset $mask $((1 << numa)))"
  node_xml_next
  printf '<object type="NUMANode" gp_index="%d" os_index="%d" %s local_memory="1073741824"><page_type size="4096" count="262144"/></object>\n' \
    "$node_xml_gp" "$numa" "$(node_xml_cpuset $mask $((1 << numa)))"
  for ((core = numa * cores; core < (numa + 1) * cores; core++)); do
    node_xml_next
    printf '<object type="Core" gp_index="%d" os_index="%d" %s>\n' "$node_xml_gp" "$core" "$(node_xml_cpuset $((1 << core)) $((1 << numa)))"
    node_xml_next
    printf '<object type="PU" gp_index="%d" os_index="%d" %s/></object>\n' "$node_xml_gp" "$core" "$(node_xml_cpuset $((1 << core)) $((1 << numa)))"
  done
  node_xml_next
  printf '<object type="Bridge" gp_index="%d" os_index="%d" bridge_type="0-1" depth="0" bridge_pci="0000:[%s-%s]">\n' "$node_xml_gp" "$numa" "$bus" "$4"
  node_xml_device "$(printf '%02x' $((16#$bus + 1)))" 0207 15b3:101b "mlx5_$numa"
  node_xml_switch "$bus" "$1" "$4"
  node_xml_switch "$(printf '%02x' $((16#$bus + 2)))" "$2" "$3"
  printf '</object>\n</object>\n'
}

node_xml() {
  local all=$(((1 << 2 * $1) - 1))
  printf '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
  printf '<object type="Machine" gp_index="1" os_index="0" %s allowed_cpuset="0x%08x" allowed_nodeset="0x00000003">\n' \
    "$(node_xml_cpuset $all 3)" $all
  node_xml_numa 0 00 "$1" 10 11 12 13
  node_xml_numa 1 80 "$1" 90 91 92 93
  printf '</object>\n</topology>\n'
}
