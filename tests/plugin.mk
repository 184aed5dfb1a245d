TESTS += tests/unit/visible_test
check_PROGRAMS += tests/unit/visible_test
tests_unit_visible_test_LDADD = libdttopo.la libdtcore.la

if DT_HAVE_SLURM
# The plugin against a double of Slurm, so that sanitizers see its hooks.
noinst_LTLIBRARIES += libdtfakeplugin.la
TESTS += tests/unit/cmdline_test tests/unit/plugin_parts_test tests/unit/plugin_test
check_PROGRAMS += tests/unit/cmdline_test tests/unit/plugin_parts_test tests/unit/plugin_test
# Tampers with steps on the lab; loaded by Slurm, so without sanitizers.
check_LTLIBRARIES += spank_fault.la
endif
if DT_HAVE_SLURM_TOPO
fake_switches = tests/fake/switches.c
endif
libdtfakeplugin_la_SOURCES = $(plugin_sources) tests/fake/spank.c tests/fake/spank.h $(fake_switches)
libdtfakeplugin_la_CPPFLAGS = $(plugin_cppflags) $(DT_HWLOC_CFLAGS) -DDT_SITE_CONF='"/nonexistent/dtrain.conf"'
libdtfakeplugin_la_LIBADD = libdttopo.la libdtcore.la

tests_unit_cmdline_test_LDADD = libdtfakeplugin.la
tests_unit_plugin_parts_test_CPPFLAGS = $(plugin_cppflags)
tests_unit_plugin_parts_test_LDADD = libdtfakeplugin.la
tests_unit_plugin_test_CPPFLAGS = $(plugin_cppflags)
tests_unit_plugin_test_LDADD = libdtfakeplugin.la

spank_fault_la_SOURCES = tests/fake/spank_fault.c
spank_fault_la_CPPFLAGS = $(plugin_cppflags)
spank_fault_la_CFLAGS = $(DT_CFLAGS)
spank_fault_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/no-such-folder
EXTRA_DIST += tests/slurm/plugin_test.sh
