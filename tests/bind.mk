# The binder: on topologies built in memory, by brute force, and on real nodes where they are at hand.
bind_tests = \
	tests/unit/bind_apply_test \
	tests/unit/bind_cpu_test \
	tests/unit/bind_files_test \
	tests/unit/bind_gpu_test
bind_test_common = tests/unit/bind_node.c tests/unit/bind_node.h tests/unit/tap.h
bind_test_cflags = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
bind_test_ldadd = libdttopo.la libdtcore.la $(DT_HWLOC_LIBS)

check_PROGRAMS += $(bind_tests)
TESTS += $(bind_tests)

tests_unit_bind_apply_test_SOURCES = tests/unit/bind_apply_test.c tests/unit/tap.h
tests_unit_bind_apply_test_CFLAGS = $(bind_test_cflags)
tests_unit_bind_apply_test_LDADD = $(bind_test_ldadd)
tests_unit_bind_cpu_test_SOURCES = tests/unit/bind_cpu_test.c $(bind_test_common)
tests_unit_bind_cpu_test_CFLAGS = $(bind_test_cflags)
tests_unit_bind_cpu_test_LDADD = $(bind_test_ldadd)
tests_unit_bind_files_test_SOURCES = tests/unit/bind_files_test.c $(bind_test_common)
tests_unit_bind_files_test_CFLAGS = $(bind_test_cflags)
tests_unit_bind_files_test_LDADD = $(bind_test_ldadd)
tests_unit_bind_gpu_test_SOURCES = tests/unit/bind_gpu_test.c $(bind_test_common)
tests_unit_bind_gpu_test_CFLAGS = $(bind_test_cflags)
tests_unit_bind_gpu_test_LDADD = $(bind_test_ldadd)
