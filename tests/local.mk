include tests/layout.mk
EXTRA_DIST += tests/tap.sh tests/slurm/lib.sh tests/slurm/run.sh
