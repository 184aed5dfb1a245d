# Pipeline schedules, pure: the library and the dtrain command use the same ones. Pipelines run them.
include_HEADERS += include/dtrain_pp.h
noinst_LTLIBRARIES += libdtschedule.la
libdtschedule_la_SOURCES = \
	include/dtrain_pp.h \
	runtime/pp_layers.c \
	runtime/schedule.c runtime/schedule.h \
	runtime/schedule_kinds.c \
	runtime/schedule_machine.c runtime/schedule_machine.h \
	runtime/schedule_place.c \
	runtime/schedule_simulate.c \
	runtime/schedule_verify.c

noinst_LTLIBRARIES += libdtpp.la
libdtpp_la_SOURCES = \
	runtime/pp.c runtime/pp.h \
	runtime/pp_agree.c \
	runtime/pp_plan.c runtime/pp_plan.h \
	runtime/pp_run.c \
	runtime/pp_shape.c \
	runtime/pp_tied.c
