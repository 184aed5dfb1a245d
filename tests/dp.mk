# Data parallel training and ZeRO, in worlds of threads.
dp_tests = tests/unit/dp_fault_test tests/unit/dp_norm_test tests/unit/dp_order_test tests/unit/dp_plan_test \
	tests/unit/dp_reduce_test tests/unit/zero_test
TESTS += $(dp_tests)
check_PROGRAMS += $(dp_tests)
dp_world = tests/unit/dp_world.c tests/unit/dp_world.h $(fork_world)
tests_unit_dp_plan_test_LDADD = libdtworld.la
tests_unit_dp_reduce_test_SOURCES = tests/unit/dp_reduce_test.c $(dp_world)
tests_unit_dp_reduce_test_LDADD = libdtworld.la -lm
tests_unit_dp_fault_test_SOURCES = tests/unit/dp_fault_test.c $(dp_world)
tests_unit_dp_fault_test_LDADD = libdtworld.la -lm
tests_unit_dp_order_test_SOURCES = tests/unit/dp_order_test.c $(dp_world)
tests_unit_dp_order_test_LDADD = libdtworld.la -lm
tests_unit_dp_norm_test_SOURCES = tests/unit/dp_norm_test.c $(dp_world)
tests_unit_dp_norm_test_LDADD = libdtworld.la -lm
tests_unit_zero_test_SOURCES = tests/unit/zero_test.c $(dp_world)
tests_unit_zero_test_LDADD = libdtworld.la -lm
