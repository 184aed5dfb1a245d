DT_TRAIN_TESTS = tests/unit/train_options_test tests/unit/train_shape_test tests/unit/train_schedule_test \
	tests/unit/train_compute_test tests/unit/train_gradient_test tests/unit/train_model_test tests/unit/train_checkpoint_test
if DT_HAVE_BLAS
TESTS += $(DT_TRAIN_TESTS) tests/cli/train_cli_test.sh
check_PROGRAMS += $(DT_TRAIN_TESTS)
endif
tests_unit_train_options_test_LDADD = examples/train/libtrain.la
tests_unit_train_shape_test_LDADD = examples/train/libtrain.la
tests_unit_train_schedule_test_LDADD = examples/train/libtrain.la
tests_unit_train_compute_test_LDADD = examples/train/libtrain.la -lm
tests_unit_train_gradient_test_SOURCES = tests/unit/train_gradient_test.c tests/unit/train_ops.c tests/unit/train_ops.h
tests_unit_train_gradient_test_LDADD = examples/train/libtrain.la libdtrain.la -lm
tests_unit_train_model_test_SOURCES = tests/unit/train_model_test.c tests/unit/train_bench.c tests/unit/train_bench.h
tests_unit_train_model_test_LDADD = examples/train/libtrain.la -lm
tests_unit_train_checkpoint_test_LDADD = examples/train/libtrain.la
EXTRA_DIST += tests/cli/train_cli_test.sh tests/slurm/train_test.sh
