# Parameter servers, in worlds of processes.
ps_tests = tests/unit/ps_plan_test tests/unit/ps_train_test tests/unit/ps_fault_test
TESTS += $(ps_tests)
check_PROGRAMS += $(ps_tests)
ps_model = tests/unit/ps_model.c tests/unit/ps_model.h $(fork_world)
tests_unit_ps_plan_test_LDADD = libdtworld.la
tests_unit_ps_train_test_SOURCES = tests/unit/ps_train_test.c $(ps_model)
tests_unit_ps_train_test_LDADD = libdtworld.la -lm
tests_unit_ps_fault_test_SOURCES = tests/unit/ps_fault_test.c $(ps_model)
tests_unit_ps_fault_test_LDADD = libdtworld.la -lm
EXTRA_DIST += tests/slurm/ps_test.sh

if DT_HAVE_NCCL
TESTS += tests/unit/ps_nccl_test
check_PROGRAMS += tests/unit/ps_nccl_test
tests_unit_ps_nccl_test_SOURCES = tests/unit/ps_nccl_test.c tests/unit/ps_model.c tests/unit/ps_model.h $(nccl_double)
tests_unit_ps_nccl_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_ps_nccl_test_LDFLAGS = $(nccl_double_ldflags)
tests_unit_ps_nccl_test_LDADD = libdtworld.la $(fake_nccl_libs) -lm
endif
