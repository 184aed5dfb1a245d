# The time of collective operations, run on the lab.
check_PROGRAMS += bench/collectives
slurm_check_programs += bench/collectives
bench_collectives_SOURCES = bench/collectives.c
bench_collectives_LDADD = libdtrain.la
EXTRA_DIST += bench/collectives.sh
