noinst_LTLIBRARIES += libdttopo.la
libdttopo_la_SOURCES = \
	topo/topo.c topo/topo.h \
	topo/visible.c topo/visible.h
libdttopo_la_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
libdttopo_la_LIBADD = $(DT_HWLOC_LIBS)
include topo/bind.mk
