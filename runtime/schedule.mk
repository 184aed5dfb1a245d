# Pipeline schedules, pure: the library and the dtrain command use the same ones.
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
