# Parameter servers.
include_HEADERS += include/dtrain_ps.h
libdtworld_la_SOURCES += \
	runtime/ps.c runtime/ps.h \
	runtime/ps_agree.c \
	runtime/ps_check.c \
	runtime/ps_clock.c runtime/ps_clock.h \
	runtime/ps_lane.c \
	runtime/ps_part.c \
	runtime/ps_plan.c runtime/ps_plan.h \
	runtime/ps_roles.c \
	runtime/ps_serve.c \
	runtime/ps_session.c \
	runtime/ps_update.c \
	runtime/ps_worker.c
