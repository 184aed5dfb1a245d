man5_MANS += man/dtrain.conf.5
man8_MANS += man/spank_dtrain.8
EXTRA_DIST += man/dtrain.conf.5.in man/spank_dtrain.8.in
CLEANFILES += man/dtrain.conf.5 man/spank_dtrain.8

man/dtrain.conf.5: man/dtrain.conf.5.in tools/mangen$(EXEEXT)
	$(DT_MANGEN)
man/spank_dtrain.8: man/spank_dtrain.8.in tools/mangen$(EXEEXT)
	$(DT_MANGEN)
