DT_TRAIN_TESTS = tests/unit/train_options_test tests/unit/train_shape_test \
	tests/unit/train_compute_test tests/unit/train_gradient_test tests/unit/train_model_test tests/unit/train_checkpoint_test \
	tests/unit/train_ways_test tests/unit/train_ps_test
if DT_HAVE_BLAS
TESTS += $(DT_TRAIN_TESTS) tests/cli/train_cli_test.sh tests/cli/train_torch_test.sh
check_PROGRAMS += $(DT_TRAIN_TESTS) tests/unit/train_dump
endif
tests_unit_train_options_test_LDADD = examples/train/libtrain.la
tests_unit_train_shape_test_LDADD = examples/train/libtrain.la libdtrain.la
tests_unit_train_compute_test_LDADD = examples/train/libtrain.la -lm
tests_unit_train_gradient_test_SOURCES = tests/unit/train_gradient_test.c tests/unit/train_ops.c tests/unit/train_ops.h
tests_unit_train_gradient_test_LDADD = examples/train/libtrain.la libdtrain.la -lm
tests_unit_train_model_test_SOURCES = tests/unit/train_model_test.c tests/unit/train_bench.c tests/unit/train_bench.h
tests_unit_train_model_test_LDADD = examples/train/libtrain.la libdtrain.la -lm
tests_unit_train_checkpoint_test_LDADD = examples/train/libtrain.la libdtrain.la
# Worlds of threads need what the library is made of.
tests_unit_train_ways_test_SOURCES = tests/unit/train_ways_test.c tests/unit/train_bench.c tests/unit/train_bench.h $(dp_world)
tests_unit_train_ways_test_LDADD = examples/train/libtrain.la libdtpp.la libdtschedule.la libdtworld.la -lm
tests_unit_train_ps_test_SOURCES = tests/unit/train_ps_test.c tests/unit/train_bench.c tests/unit/train_bench.h $(dp_world)
tests_unit_train_ps_test_LDADD = examples/train/libtrain.la libdtpp.la libdtschedule.la libdtworld.la -lm
tests_unit_train_dump_SOURCES = tests/unit/train_dump.c tests/unit/train_bench.c tests/unit/train_bench.h
tests_unit_train_dump_LDADD = examples/train/libtrain.la libdtrain.la -lm
EXTRA_DIST += tests/cli/train_torch_test.sh tests/cli/train_torch.py
EXTRA_DIST += tests/cli/train_cli_test.sh tests/slurm/train_test.sh
