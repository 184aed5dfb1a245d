if DT_HAVE_BLAS
TESTS += tests/unit/train_experts_test
check_PROGRAMS += tests/unit/train_experts_test
endif
# Worlds of threads need what the library is made of.
tests_unit_train_experts_test_SOURCES = tests/unit/train_experts_test.c tests/unit/train_bench.c tests/unit/train_bench.h $(dp_world)
tests_unit_train_experts_test_LDADD = examples/train/libtrain.la libdtpp.la libdtschedule.la libdtworld.la -lm
