# The peer of bench/bringup.sh.
if DT_HAVE_PMIX
check_PROGRAMS += bench/bare_pmix
slurm_check_programs += bench/bare_pmix
endif
bench_bare_pmix_SOURCES = bench/bare_pmix.c
bench_bare_pmix_CFLAGS = $(AM_CFLAGS) $(DT_PMIX_CFLAGS)
bench_bare_pmix_LDADD = $(DT_PMIX_LIBS)
EXTRA_DIST += bench/launch.sh bench/bringup.sh
