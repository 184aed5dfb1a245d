noinst_LTLIBRARIES += libdtcore.la
libdtcore_la_SOURCES = \
	core/error.c core/error.h \
	core/hostlist.c core/hostlist.h core/hostlist_term.c core/hostlist_term.h \
	core/log.c core/log.h \
	core/out.c core/out.h \
	core/parse.c core/parse.h \
	core/plan_print.c core/plan_print.h \
	core/plan_table.c core/plan_table.h \
	core/walk.c core/walk.h
libdtcore_la_CFLAGS = $(AM_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
