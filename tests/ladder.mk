# Revoked communicators, worlds that go on without their dead.
ladder_tests = tests/unit/comm_revoke_test tests/unit/world_rebuild_test \
	tests/unit/world_local_test
TESTS += $(ladder_tests)
check_PROGRAMS += $(ladder_tests)
tests_unit_comm_revoke_test_SOURCES = tests/unit/comm_revoke_test.c $(host_double_sources)
tests_unit_comm_revoke_test_LDADD = $(host_test_ldadd)
tests_unit_world_rebuild_test_SOURCES = tests/unit/world_rebuild_test.c $(fork_world)
tests_unit_world_rebuild_test_LDADD = libdtworld.la
tests_unit_world_local_test_SOURCES = tests/unit/world_local_test.c tests/unit/tap.h
tests_unit_world_local_test_LDADD = libdtworld.la
