TESTS += tests/unit/bind_choice_test
check_PROGRAMS += tests/unit/bind_choice_test
tests_unit_bind_choice_test_LDADD = libdtcore.la

DT_FUZZERS += tests/fuzz/fuzz_bind_choice
tests_fuzz_fuzz_bind_choice_SOURCES = tests/fuzz/fuzz_bind_choice.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_bind_choice_LDADD = libdtcore.la
tests_fuzz_fuzz_bind_choice_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)

if DT_HAVE_SLURM
TESTS += tests/unit/binder_parts_test tests/unit/binder_test
check_PROGRAMS += tests/unit/binder_parts_test tests/unit/binder_test
endif
tests_unit_binder_parts_test_SOURCES = tests/unit/binder_parts_test.c tests/fake/node.h
tests_unit_binder_parts_test_CPPFLAGS = $(plugin_cppflags) $(DT_HWLOC_CFLAGS)
tests_unit_binder_parts_test_LDADD = libdtfakeplugin.la
tests_unit_binder_test_SOURCES = tests/unit/binder_test.c tests/fake/node.h
tests_unit_binder_test_CPPFLAGS = $(plugin_cppflags) $(DT_HWLOC_CFLAGS)
tests_unit_binder_test_LDADD = libdtfakeplugin.la
EXTRA_DIST += tests/slurm/binding_test.sh tests/slurm/node_xml.sh
