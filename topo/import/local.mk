noinst_LTLIBRARIES += libdtimport.la
libdtimport_la_SOURCES = \
	topo/import/draft.c topo/import/draft.h \
	topo/import/draft_cpus.c \
	topo/import/draft_finish.c \
	topo/import/draft_read.c \
	topo/import/import.c topo/import/import.h \
	topo/import/import_root.c \
	topo/import/machine_facts.c topo/import/machine_facts.h \
	topo/import/machine_place.c topo/import/machine_place.h \
	topo/import/machines.c \
	topo/import/nvidia_smi.c \
	topo/import/nvidia_table.c topo/import/nvidia_table.h \
	topo/import/plain.c topo/import/plain.h \
	topo/import/reader.h \
	topo/import/rocm_smi.c
if DT_HAVE_EXPAT
libdtimport_la_SOURCES += topo/import/nccl_tree.c topo/import/nccl_tree.h topo/import/nccl_xml.c
else
libdtimport_la_SOURCES += topo/import/nccl_absent.c
endif
libdtimport_la_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS) $(DT_EXPAT_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
libdtimport_la_LIBADD = $(DT_EXPAT_LIBS)
