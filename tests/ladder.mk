# Revoked communicators, worlds that go on without their dead.
ladder_tests = tests/unit/comm_revoke_test
TESTS += $(ladder_tests)
check_PROGRAMS += $(ladder_tests)
tests_unit_comm_revoke_test_SOURCES = tests/unit/comm_revoke_test.c $(host_double_sources)
tests_unit_comm_revoke_test_LDADD = $(host_test_ldadd)
