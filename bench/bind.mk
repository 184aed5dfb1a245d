# The time of a binding, and its quality.
check_PROGRAMS += bench/bind
bench_bind_SOURCES = bench/bind.c tests/unit/bind_node.c tests/unit/bind_node.h
bench_bind_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
bench_bind_LDADD = libdttopo.la libdtcore.la $(DT_HWLOC_LIBS)
