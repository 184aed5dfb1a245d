noinst_LTLIBRARIES += libdttopo.la
libdttopo_la_SOURCES = \
	topo/topo.c topo/topo.h \
	topo/topo_board.c topo/topo_board.h \
	topo/topo_child.c topo/topo_child.h \
	topo/topo_device.c topo/topo_device.h \
	topo/topo_gpu.c topo/topo_gpu.h \
	topo/topo_hwloc.c topo/topo_hwloc.h \
	topo/topo_link.c topo/topo_link.h \
	topo/topo_nic.c topo/topo_nic.h \
	topo/topo_path.c topo/topo_path.h \
	topo/topo_read.c topo/topo_read.h \
	topo/topo_trust.c \
	topo/topo_wire.c topo/topo_wire.h \
	topo/visible.c topo/visible.h
libdttopo_la_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
libdttopo_la_LIBADD = $(DT_HWLOC_LIBS)
include topo/bind.mk
