EXTRA_DIST += lab/README.md lab/cluster.sh lab/conf.sh lab/down.sh lab/enter.sh lab/folder.sh lab/host-init.sh \
	lab/host.sh lab/lab lab/options.sh lab/say.sh tests/slurm/lab_test.sh tests/slurm/pmix_hello.c
