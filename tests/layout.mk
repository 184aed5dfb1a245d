TESTS += tests/unit/layout_test tests/unit/plan_test
check_PROGRAMS += tests/unit/layout_test tests/unit/plan_test
tests_unit_layout_test_LDADD = libdtcore.la
tests_unit_plan_test_LDADD = libdtcore.la
EXTRA_DIST += tests/unit/tap.h
