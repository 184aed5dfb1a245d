# The bubble of pipeline schedules, run on the lab.
check_PROGRAMS += bench/bubble
slurm_check_programs += bench/bubble
bench_bubble_SOURCES = bench/bubble.c
bench_bubble_LDADD = libdtrain.la
EXTRA_DIST += bench/bubble.sh
