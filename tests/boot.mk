# The world side of the library: control, bring-up.
TESTS += tests/unit/world_test
check_PROGRAMS += tests/unit/world_test
tests_unit_world_test_SOURCES = tests/unit/world_test.c tests/unit/fork_world.c tests/unit/fork_world.h
tests_unit_world_test_LDADD = libdtworld.la
