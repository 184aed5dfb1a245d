# The kernels of CUDA, run by the CPU on the doubles of libcudart and libnccl: the tests of tests/gpu, and train.
cuda_emulator = \
	tests/fake/cuda/emulate_block.cc tests/fake/cuda/emulate_fiber.cc tests/fake/cuda/emulate_launch.cc \
	tests/fake/cuda/emulate_order.cc tests/fake/cuda/emulate_shared.cc
EXTRA_DIST += $(cuda_emulator) tests/fake/cuda/convert.awk tests/fake/cuda/emulate.h tests/fake/cuda/emulate_asan.h \
	tests/fake/cuda/emulate_block.h tests/fake/cuda/emulate_fiber.h tests/fake/cuda/emulate_order.h \
	tests/fake/cuda/emulate_shared.h tests/fake/cuda/cublas.c tests/cuda/kernels.cu tests/cli/cuda_convert_test.sh
TESTS += tests/cli/cuda_convert_test.sh

if DT_HAVE_CXX
cuda_kernels = \
	runtime/nccl_math_device.h runtime/nccl_math.cu runtime/nccl_math_elements.cu runtime/nccl_math_loss.cu \
	runtime/nccl_math_rows.cu \
	examples/train/cuda_device.h examples/train/cuda_attention.cu examples/train/cuda_elements.cu \
	examples/train/cuda_norm.cu examples/train/cuda_product.cu \
	tests/cuda/kernels.cu
cuda_converted = tests/cuda/converted
cuda_math_objects = \
	$(cuda_converted)/runtime/nccl_math.lo $(cuda_converted)/runtime/nccl_math_elements.lo \
	$(cuda_converted)/runtime/nccl_math_loss.lo $(cuda_converted)/runtime/nccl_math_rows.lo
cuda_train_objects = \
	$(cuda_converted)/examples/train/cuda_attention.lo $(cuda_converted)/examples/train/cuda_elements.lo \
	$(cuda_converted)/examples/train/cuda_norm.lo $(cuda_converted)/examples/train/cuda_product.lo
cuda_test_objects = $(cuda_converted)/tests/cuda/kernels.lo
cuda_converted_objects = $(cuda_math_objects) $(cuda_train_objects) $(cuda_test_objects)
cuda_emulator_objects = $(cuda_emulator:.cc=.lo)

# Headers keep their names, and are found before the original ones.
$(cuda_converted)/stamp: $(cuda_kernels) tests/fake/cuda/convert.awk
	$(AM_V_GEN)for file in $(cuda_kernels); do \
	  to=$(cuda_converted)/`echo $$file | $(SED) 's/\.cu$$/.cc/'`; $(MKDIR_P) `dirname $$to` && \
	  $(AWK) -v label=$$file -f $(srcdir)/tests/fake/cuda/convert.awk $(srcdir)/$$file >$$to || exit 1; \
	done
	@touch $@
$(cuda_converted_objects:.lo=.cc): $(cuda_converted)/stamp
	@:
dt_cc_cppflags = -I$(cuda_converted) -I$(srcdir) -I$(srcdir)/include -I$(srcdir)/examples/train \
	$(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS) -include tests/fake/cuda/emulate.h
-include tests/cuda/converted/runtime/nccl_math.cc.d
-include tests/cuda/converted/runtime/nccl_math_elements.cc.d
-include tests/cuda/converted/runtime/nccl_math_loss.cc.d
-include tests/cuda/converted/runtime/nccl_math_rows.cc.d
-include tests/cuda/converted/examples/train/cuda_attention.cc.d
-include tests/cuda/converted/examples/train/cuda_elements.cc.d
-include tests/cuda/converted/examples/train/cuda_norm.cc.d
-include tests/cuda/converted/examples/train/cuda_product.cc.d
-include tests/cuda/converted/tests/cuda/kernels.cc.d
-include tests/fake/cuda/emulate_block.cc.d
-include tests/fake/cuda/emulate_fiber.cc.d
-include tests/fake/cuda/emulate_launch.cc.d
-include tests/fake/cuda/emulate_order.cc.d
-include tests/fake/cuda/emulate_shared.cc.d
CLEANFILES += $(cuda_converted)/stamp $(cuda_converted)/*/*.cc* $(cuda_converted)/*/*/*.cc* $(cuda_converted)/*/*.h \
	$(cuda_converted)/*/*/*.h $(cuda_converted)/*/*.lo $(cuda_converted)/*/*/*.lo $(cuda_converted)/*/*.o \
	$(cuda_converted)/*/*/*.o $(cuda_converted)/*/.libs/*.o $(cuda_converted)/*/*/.libs/*.o \
	tests/fake/cuda/*.lo tests/fake/cuda/*.o tests/fake/cuda/*.cc.d tests/fake/cuda/.libs/*.o

# What libdtrain loads, and what train does: beside the test, as beside the program.
check_LTLIBRARIES += tests/cuda/libdtrain_nccl.la tests/cuda/train_cuda.la
tests_cuda_libdtrain_nccl_la_SOURCES = $(dt_nccl_sources)
tests_cuda_libdtrain_nccl_la_CFLAGS = $(dt_nccl_cflags)
tests_cuda_libdtrain_nccl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/tests/cuda \
	-export-symbols-regex '^dt_backend_nccl$$'
tests_cuda_libdtrain_nccl_la_LIBADD = $(cuda_math_objects) $(cuda_emulator_objects) libdtcore.la \
	tests/fake/nccl/libcudart.so.13 -lpthread -ldl -lm
tests_cuda_libdtrain_nccl_la_DEPENDENCIES = $(cuda_math_objects) $(cuda_emulator_objects) libdtcore.la \
	tests/fake/nccl/libcudart.so.13
tests_cuda_train_cuda_la_SOURCES = examples/train/compute_cuda.c examples/train/compute_fail.c \
	examples/train/error.c tests/fake/cuda/cublas.c
tests_cuda_train_cuda_la_CPPFLAGS = -I$(top_srcdir)/include $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
tests_cuda_train_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/tests/cuda \
	-export-symbols-regex '^train_compute_open$$'
tests_cuda_train_cuda_la_LIBADD = $(cuda_train_objects) $(cuda_emulator_objects) libdtrain.la \
	tests/fake/nccl/libcudart.so.13 -lpthread -ldl -lm
tests_cuda_train_cuda_la_DEPENDENCIES = $(cuda_train_objects) $(cuda_emulator_objects) libdtrain.la \
	tests/fake/nccl/libcudart.so.13

cuda_tests = tests/cuda/emulate_test tests/cuda/math_test tests/cuda/compute_test tests/cuda/train_test
TESTS += $(cuda_tests)
check_PROGRAMS += $(cuda_tests)
tests_cuda_emulate_test_SOURCES = tests/cuda/emulate_test.c tests/cuda/kernels.h $(fake_nccl_rows)
tests_cuda_emulate_test_CFLAGS = $(fake_nccl_cflags)
tests_cuda_emulate_test_LDFLAGS = $(fake_nccl_ldflags)
tests_cuda_emulate_test_LDADD = $(cuda_test_objects) $(cuda_emulator_objects) $(fake_nccl_libs) -lpthread -ldl -lm
tests_cuda_math_test_SOURCES = tests/gpu/math_test.c tests/gpu/gpu_emulated.c $(gpu_common)
tests_cuda_math_test_CFLAGS = $(fake_nccl_cflags)
tests_cuda_math_test_LDFLAGS = $(nccl_double_ldflags)
tests_cuda_math_test_LDADD = examples/train/libtrain.la libdtworld.la $(fake_nccl_libs) -lm
tests_cuda_compute_test_SOURCES = tests/gpu/compute_test.c tests/gpu/gpu_emulated.c tests/unit/train_ops.c \
	tests/unit/train_ops.h $(gpu_common)
tests_cuda_compute_test_CFLAGS = $(fake_nccl_cflags)
tests_cuda_compute_test_LDFLAGS = $(nccl_double_ldflags)
tests_cuda_compute_test_LDADD = examples/train/libtrain.la libdtworld.la $(fake_nccl_libs) -lm
tests_cuda_train_test_SOURCES = tests/unit/nccl_train_test.c tests/unit/train_bench.c tests/unit/train_bench.h \
	$(nccl_double)
tests_cuda_train_test_CPPFLAGS = $(AM_CPPFLAGS) -DTRAIN_STEPS=2 -DTRAIN_RANKS=2 -DTRAIN_WAYS=1 \
	-DNCCL_DOUBLE_MODULE='"tests/cuda/.libs/libdtrain_nccl.so"'
tests_cuda_train_test_CFLAGS = $(fake_nccl_cflags)
tests_cuda_train_test_LDFLAGS = $(nccl_double_ldflags)
tests_cuda_train_test_LDADD = examples/train/libtrain.la libdtworld.la $(fake_nccl_libs) -lm
endif
