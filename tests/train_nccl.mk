# examples/train on the NCCL module and its doubles; what computes lies beside the test, as beside the program.
if DT_HAVE_CUBLAS
check_LTLIBRARIES += tests/unit/train_cuda.la
tests_unit_train_cuda_la_SOURCES = tests/fake/nccl/train_compute.c
tests_unit_train_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/tests/unit \
	-export-symbols-regex '^train_compute_open$$'
tests_unit_train_cuda_la_LIBADD = examples/train/libtrain.la libdtrain.la

TESTS += tests/unit/nccl_train_test
check_PROGRAMS += tests/unit/nccl_train_test
tests_unit_nccl_train_test_SOURCES = tests/unit/nccl_train_test.c tests/unit/train_bench.c \
	tests/unit/train_bench.h $(nccl_double)
tests_unit_nccl_train_test_CFLAGS = $(fake_nccl_cflags)
# Both doubles, whoever needs them: one finds the other by it.
tests_unit_nccl_train_test_LDFLAGS = $(fake_nccl_ldflags) -Wl,--no-as-needed
tests_unit_nccl_train_test_LDADD = examples/train/libtrain.la libdtworld.la $(fake_nccl_libs) -lm
endif

