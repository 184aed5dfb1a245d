# The library: core, the host backend, and the world. PMIx is linked here only.
include runtime/host.mk
include runtime/tp.mk
include runtime/pp.mk

noinst_LTLIBRARIES += libdtworld.la
libdtworld_la_SOURCES = \
	runtime/backend.c runtime/backend.h runtime/backend_choice.h runtime/backend_nccl.h \
	runtime/boot.c runtime/boot.h runtime/boot_single.c \
	runtime/boot_local.c runtime/boot_local.h \
	runtime/bringup.c \
	runtime/card.c runtime/card.h \
	runtime/control.c runtime/control.h runtime/control_state.h \
	runtime/control_branch.c runtime/control_branch.h \
	runtime/control_link.c runtime/control_link.h \
	runtime/control_rebuild.c \
	runtime/control_report.c runtime/control_report.h \
	runtime/control_message.c runtime/control_message.h \
	runtime/control_call.c runtime/control_handle.c runtime/control_join.c runtime/control_peers.c \
	runtime/control_revoke.c runtime/control_roll.c runtime/control_seek.c runtime/control_send.c runtime/control_tree.c \
	runtime/facts.c runtime/facts.h \
	runtime/group.c \
	runtime/listener.c runtime/listener.h \
	runtime/opinion.c runtime/opinion.h \
	runtime/phases.c runtime/phases.h \
	runtime/random.c runtime/random.h \
	runtime/rendezvous.c runtime/rendezvous.h \
	runtime/roll.c runtime/roll.h \
	runtime/settings.c runtime/settings.h \
	runtime/source.c runtime/source.h \
	runtime/wire.c runtime/wire.h \
	runtime/world.c runtime/world.h \
	runtime/world_comms.c runtime/world_comms.h \
	runtime/world_ids.c runtime/world_ids.h \
	runtime/world_layout.c runtime/world_local.c runtime/world_rebuild.c runtime/world_revoke.c
if DT_HAVE_PMIX
libdtworld_la_SOURCES += runtime/boot_pmix.c
else
libdtworld_la_SOURCES += runtime/boot_no_pmix.c
endif
EXTRA_DIST += runtime/boot_pmix.c runtime/boot_no_pmix.c
libdtworld_la_CFLAGS = $(AM_CFLAGS) $(DT_PMIX_CFLAGS)
include runtime/nccl.mk
include runtime/nccl_math.mk
libdtworld_la_LIBADD = libdthost.la libdtcore.la $(DT_PMIX_LIBS) -lpthread
include runtime/dp.mk

lib_LTLIBRARIES += libdtrain.la
libdtrain_la_SOURCES =
libdtrain_la_LIBADD = libdtpp.la libdtschedule.la libdtworld.la
libdtrain_la_LDFLAGS = $(AM_LDFLAGS) $(DT_HARDENING_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/runtime/libdtrain.map
EXTRA_DIST += runtime/libdtrain.map
libdtrain_la_DEPENDENCIES = libdtpp.la libdtschedule.la libdtworld.la $(top_srcdir)/runtime/libdtrain.map
