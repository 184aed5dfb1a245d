# Pipeline parallelism: schedules, and stages that run them.
pp_tests = tests/unit/pp_plan_test tests/unit/pp_test tests/unit/schedule_test tests/unit/schedule_verify_test
check_PROGRAMS += $(pp_tests)
TESTS += $(pp_tests)
tests_unit_pp_plan_test_LDADD = libdtpp.la libdtschedule.la libdtworld.la
tests_unit_pp_test_SOURCES = tests/unit/pp_test.c $(fork_world)
tests_unit_pp_test_LDADD = libdtpp.la libdtschedule.la libdtworld.la -lm
tests_unit_schedule_test_LDADD = libdtschedule.la libdtcore.la -lm
tests_unit_schedule_verify_test_LDADD = libdtschedule.la libdtcore.la
TESTS += tests/cli/schedule_test.sh
EXTRA_DIST += tests/cli/schedule_test.sh
