# The cluster's switches: topology.conf, the order of nodes, what crosses which level.
TESTS += tests/unit/switches_test
check_PROGRAMS += tests/unit/switches_test
tests_unit_switches_test_LDADD = libdtcore.la

if DT_HAVE_SLURM_TOPO
TESTS += tests/unit/plugin_switches_test
check_PROGRAMS += tests/unit/plugin_switches_test
endif
tests_unit_plugin_switches_test_CPPFLAGS = $(plugin_cppflags)
tests_unit_plugin_switches_test_LDADD = libdtfakeplugin.la

if DT_LIBFUZZER
noinst_PROGRAMS += tests/fuzz/fuzz_switches
else
TESTS += tests/fuzz/fuzz_switches
check_PROGRAMS += tests/fuzz/fuzz_switches
endif
tests_fuzz_fuzz_switches_SOURCES = tests/fuzz/fuzz_switches.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_switches_LDADD = libdtcore.la
tests_fuzz_fuzz_switches_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
TESTS += tests/cli/switches_test.sh
EXTRA_DIST += tests/cli/switches_test.sh tests/slurm/switches_test.sh
