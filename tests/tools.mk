TESTS += tests/unit/out_test tests/unit/plan_print_test tests/cli/plan_test.sh tests/cli/man_test.sh
check_PROGRAMS += tests/unit/out_test tests/unit/plan_print_test
tests_unit_out_test_LDADD = libdtcore.la
tests_unit_plan_print_test_LDADD = libdtcore.la
EXTRA_DIST += tests/cli/plan_test.sh tests/cli/plan_groups.py tests/cli/man_test.sh

# The example of libdtrain(3), as it stands there.
check_PROGRAMS += examples/sum
slurm_check_programs += examples/sum
examples_sum_LDADD = libdtrain.la
