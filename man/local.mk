# A man page is built by $(DT_MANGEN) from the template of its name; what it lists comes from tables.
DT_MANGEN = $(AM_V_GEN)$(MKDIR_P) man && \
	tools/mangen$(EXEEXT) $(top_srcdir) <$(top_srcdir)/$@.in >$@.tmp && mv $@.tmp $@

man1_MANS += man/dtrain.1 man/dtrain-suggest.1
man3_MANS += man/libdtrain.3
man7_MANS += man/dtrain-env.7
EXTRA_DIST += man/dtrain.1.in man/dtrain-suggest.1.in man/libdtrain.3.in man/dtrain-env.7.in \
	man/dtrain.example man/dtrain-topo.example man/dtrain-suggest.example man/dtrain-schedule.example \
	examples/sum.c
CLEANFILES += man/dtrain.1 man/dtrain-suggest.1 man/libdtrain.3 man/dtrain-env.7

man/dtrain.1: man/dtrain.1.in man/dtrain.example man/dtrain-topo.example man/dtrain-schedule.example \
	tools/mangen$(EXEEXT)
	$(DT_MANGEN)
man/dtrain-suggest.1: man/dtrain-suggest.1.in man/dtrain-suggest.example tools/mangen$(EXEEXT)
	$(DT_MANGEN)
man/dtrain-env.7: man/dtrain-env.7.in tools/mangen$(EXEEXT)
	$(DT_MANGEN)
man/libdtrain.3: man/libdtrain.3.in examples/sum.c tools/mangen$(EXEEXT)
	$(DT_MANGEN)

include man/plugin.mk
