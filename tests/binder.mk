TESTS += tests/unit/bind_choice_test
check_PROGRAMS += tests/unit/bind_choice_test
tests_unit_bind_choice_test_LDADD = libdtcore.la

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
