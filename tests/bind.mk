# The binder: on topologies built in memory, by brute force, and on real nodes where they are at hand.
bind_tests = \
	tests/unit/bind_gpu_test \
	tests/unit/bind_cpu_test
check_PROGRAMS += $(bind_tests)
TESTS += $(bind_tests)
bind_test_common = tests/unit/bind_node.c tests/unit/bind_node.h tests/unit/tap.h
bind_test_ldadd = libdttopo.la libdtcore.la
tests_unit_bind_gpu_test_SOURCES = tests/unit/bind_gpu_test.c $(bind_test_common)
tests_unit_bind_gpu_test_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
tests_unit_bind_gpu_test_LDADD = $(bind_test_ldadd)
tests_unit_bind_cpu_test_SOURCES = tests/unit/bind_cpu_test.c $(bind_test_common)
tests_unit_bind_cpu_test_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
tests_unit_bind_cpu_test_LDADD = $(bind_test_ldadd)
