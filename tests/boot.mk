# The world side of the library: settings and facts, control, whole worlds.
boot_tests = tests/unit/boot_test tests/unit/control_test tests/unit/world_test tests/unit/world_fault_test
TESTS += $(boot_tests)
check_PROGRAMS += $(boot_tests)
fork_world = tests/unit/fork_world.c tests/unit/fork_world.h
tests_unit_boot_test_LDADD = libdtworld.la
tests_unit_control_test_LDADD = libdtworld.la
tests_unit_world_test_SOURCES = tests/unit/world_test.c $(fork_world)
tests_unit_world_test_LDADD = libdtworld.la
tests_unit_world_fault_test_SOURCES = tests/unit/world_fault_test.c $(fork_world)
tests_unit_world_fault_test_LDADD = libdtworld.la
EXTRA_DIST += tests/slurm/runtime_test.sh
