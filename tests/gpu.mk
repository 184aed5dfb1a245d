# Tests on GPUs: built by make check, so that they stay whole, and run by make check-gpu only.
gpu_tests =
if DT_HAVE_CUBLAS
gpu_tests += tests/gpu/math_test tests/gpu/compute_test tests/gpu/comm_test
endif
check_PROGRAMS += $(gpu_tests)
gpu_common = tests/gpu/gpu.c tests/gpu/gpu.h $(fork_world)
gpu_device = $(gpu_common) tests/gpu/gpu_device.c
gpu_cflags = $(AM_CFLAGS) $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
tests_gpu_math_test_SOURCES = tests/gpu/math_test.c $(gpu_device)
tests_gpu_math_test_CFLAGS = $(gpu_cflags)
tests_gpu_math_test_LDADD = examples/train/libtrain.la libdtworld.la $(DT_CUDA_LIBS) -lm
tests_gpu_compute_test_SOURCES = tests/gpu/compute_test.c tests/unit/train_ops.c tests/unit/train_ops.h $(gpu_device)
tests_gpu_compute_test_CFLAGS = $(gpu_cflags)
tests_gpu_compute_test_LDADD = examples/train/libtrain.la libdtworld.la $(DT_CUDA_LIBS) -lm
tests_gpu_comm_test_SOURCES = tests/gpu/comm_test.c $(gpu_device)
tests_gpu_comm_test_CFLAGS = $(gpu_cflags)
tests_gpu_comm_test_LDADD = libdtworld.la $(DT_CUDA_LIBS)
EXTRA_DIST += tests/gpu/run.sh tests/gpu/train_test.sh

# Where there is no GPU each test is skipped, and says so.
check-gpu: all
	$(MAKE) $(AM_MAKEFLAGS) $(gpu_tests)
	bash $(top_srcdir)/tests/gpu/run.sh .

.PHONY: check-gpu
