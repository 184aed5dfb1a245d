# What of the gradients' way is hidden behind the backward pass, run on the lab.
check_PROGRAMS += bench/overlap
slurm_check_programs += bench/overlap
bench_overlap_SOURCES = bench/overlap.c
bench_overlap_LDADD = libdtrain.la
EXTRA_DIST += bench/overlap.sh
