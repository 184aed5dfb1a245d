# The host backend and the operations on communicators.
host_tests = \
	tests/unit/comm_test \
	tests/unit/host_coll_test \
	tests/unit/host_fault_test \
	tests/unit/host_half_test \
	tests/unit/host_link_test \
	tests/unit/host_reduce_test \
	tests/unit/host_stream_test \
	tests/unit/math_elements_test
host_test_ldadd = libdthost.la libdtcore.la
host_double_sources = tests/unit/host_double.c tests/unit/host_double.h tests/unit/tap.h

check_PROGRAMS += $(host_tests)
TESTS += $(host_tests)

tests_unit_comm_test_SOURCES = tests/unit/comm_test.c tests/unit/tap.h
tests_unit_comm_test_LDADD = $(host_test_ldadd)
tests_unit_host_coll_test_SOURCES = tests/unit/host_coll_test.c $(host_double_sources)
tests_unit_host_coll_test_LDADD = $(host_test_ldadd)
tests_unit_host_fault_test_SOURCES = tests/unit/host_fault_test.c $(host_double_sources)
tests_unit_host_fault_test_LDADD = $(host_test_ldadd)
tests_unit_host_half_test_SOURCES = tests/unit/host_half_test.c tests/unit/tap.h
tests_unit_host_half_test_LDADD = -lm
tests_unit_host_link_test_SOURCES = tests/unit/host_link_test.c tests/unit/tap.h
tests_unit_host_link_test_LDADD = $(host_test_ldadd)
tests_unit_host_reduce_test_SOURCES = tests/unit/host_reduce_test.c tests/unit/tap.h
tests_unit_host_reduce_test_LDADD = $(host_test_ldadd)
tests_unit_host_stream_test_SOURCES = tests/unit/host_stream_test.c $(host_double_sources)
tests_unit_host_stream_test_LDADD = $(host_test_ldadd)
tests_unit_math_elements_test_SOURCES = tests/unit/math_elements_test.c tests/unit/tap.h
tests_unit_math_elements_test_LDADD = $(host_test_ldadd) -lm
