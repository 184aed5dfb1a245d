noinst_LTLIBRARIES += libdtcore.la
libdtcore_la_SOURCES = \
	core/error.c core/error.h \
	core/hostlist.c core/hostlist.h core/hostlist_term.c core/hostlist_term.h \
	core/log.c core/log.h \
	core/parse.c core/parse.h
libdtcore_la_CFLAGS = $(AM_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=hidden
