plugin_sources = \
	plugin/allowed.c plugin/allowed.h \
	plugin/binder.c plugin/binder.h \
	plugin/bound.c plugin/bound.h \
	plugin/cmdline.c plugin/cmdline.h \
	plugin/devices.c plugin/devices.h \
	plugin/driver.c plugin/driver.h \
	plugin/gpus.c plugin/gpus.h \
	plugin/launch.c plugin/launch.h \
	plugin/lists.c plugin/lists.h \
	plugin/master.c plugin/master.h \
	plugin/node.c plugin/node.h \
	plugin/options.c plugin/options.h \
	plugin/outer.c plugin/outer.h \
	plugin/site.c plugin/site.h \
	plugin/spank_dtrain.c \
	plugin/step.c plugin/step.h \
	$(plugin_switches) \
	plugin/task.c plugin/task.h
# The controller's switches are an array of records up to Slurm 23.02.
if DT_HAVE_SLURM_TOPO
plugin_switches = plugin/switches.c plugin/switches.h
else
plugin_switches = plugin/switches_opaque.c plugin/switches.h
endif
plugin_cppflags = $(AM_CPPFLAGS) $(DT_SLURM_CPPFLAGS)

if DT_HAVE_SLURM
slurmplugin_LTLIBRARIES += spank_dtrain.la
endif
# All of it from sources, so that what Slurm loads never has a sanitizer in it. Slurm's own symbols are
# found when it loads the plugin, hence -z undefs.
spank_dtrain_la_SOURCES = $(plugin_sources) $(libdttopo_la_SOURCES) $(libdtcore_la_SOURCES)
spank_dtrain_la_LIBADD = $(DT_HWLOC_LIBS)
EXTRA_spank_dtrain_la_DEPENDENCIES = plugin/spank_dtrain.map
spank_dtrain_la_CPPFLAGS = $(plugin_cppflags) -DDT_SITE_CONF='"$(sysconfdir)/dtrain.conf"'
spank_dtrain_la_CFLAGS = $(DT_CFLAGS) $(DT_HWLOC_CFLAGS) $(DT_HARDENING_CFLAGS) -fvisibility=default
spank_dtrain_la_LDFLAGS = -module -avoid-version -shared $(DT_HARDENING_LDFLAGS) -Wl,-z,undefs \
	-Wl,--version-script=$(srcdir)/plugin/spank_dtrain.map
EXTRA_DIST += plugin/spank_dtrain.map
