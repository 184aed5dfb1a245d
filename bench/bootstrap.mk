# The exchange of a whole world in one process.
check_PROGRAMS += bench/bootstrap
bench_bootstrap_SOURCES = bench/bootstrap.c bench/simulation.c bench/simulation.h
bench_bootstrap_LDADD = libdtworld.la
EXTRA_DIST += bench/bootstrap.sh
