noinst_LTLIBRARIES += libdtcore.la
libdtcore_la_SOURCES = \
	core/bind_choice.c core/bind_choice.h \
	core/comm_config.c core/comm_config.h \
	core/conf.c core/conf.h \
	core/env.c core/env.h \
	core/error.c core/error.h \
	core/hostlist.c core/hostlist.h \
	core/hostlist_term.c core/hostlist_term.h \
	core/layout.c core/layout.h \
	core/log.c core/log.h \
	core/node_order.c core/node_order.h \
	core/out.c core/out.h \
	core/parse.c core/parse.h \
	core/plan.c core/plan.h \
	core/plan_crossings.c core/plan_crossings.h \
	core/plan_print.c core/plan_print.h \
	core/plan_table.c core/plan_table.h \
	core/plan_wire.c core/plan_wire_read.c core/plan_wire.h core/plan_wire_run.h \
	core/request.c core/request.h \
	core/switches.c core/switches.h \
	core/switches_build.c core/switches_build.h \
	core/switches_read.c \
	core/walk.c core/walk.h
libdtcore_la_CFLAGS = $(AM_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
