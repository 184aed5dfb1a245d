noinst_LTLIBRARIES += libdttopo.la
libdttopo_la_SOURCES = topo/visible.c topo/visible.h
libdttopo_la_CFLAGS = $(AM_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
