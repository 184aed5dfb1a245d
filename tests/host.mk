# The host backend and the operations on communicators.
host_tests = \
	tests/unit/host_coll_test
host_test_ldadd = libdthost.la libdtcore.la
host_double_sources = tests/unit/host_double.c tests/unit/host_double.h tests/unit/tap.h

check_PROGRAMS += $(host_tests)
TESTS += $(host_tests)

tests_unit_host_coll_test_SOURCES = tests/unit/host_coll_test.c $(host_double_sources)
tests_unit_host_coll_test_LDADD = $(host_test_ldadd)
