# All but main() as a library, so that the unit tests can look at the parts.
if DT_HAVE_BLAS
noinst_LTLIBRARIES += examples/train/libtrain.la
pkglibexec_PROGRAMS += examples/train/train
endif
examples_train_libtrain_la_SOURCES = \
	examples/train/checkpoint.c examples/train/checkpoint.h \
	examples/train/checkpoint_file.h \
	examples/train/checkpoint_format.c examples/train/checkpoint_format.h \
	examples/train/checkpoint_reader.c examples/train/checkpoint_writer.c \
	examples/train/compute.c examples/train/compute.h examples/train/compute_fail.c \
	examples/train/compute_cpu.c examples/train/cpu.h \
	examples/train/cpu_float32.c examples/train/cpu_float64.c examples/train/cpu_bfloat16.c \
	examples/train/cpu_exp.h examples/train/cpu_same.h examples/train/cpu_product.h \
	examples/train/cpu_attention.h \
	examples/train/cpu_elements.h examples/train/cpu_norm.h examples/train/cpu_table.h \
	examples/train/context.c examples/train/context.h \
	examples/train/data.c examples/train/data.h \
	examples/train/embedding.c examples/train/embedding.h \
	examples/train/error.c examples/train/error.h \
	examples/train/experts.c examples/train/experts.h \
	examples/train/gradients.c examples/train/gradients.h \
	examples/train/grid.c examples/train/grid.h \
	examples/train/head.c examples/train/head.h \
	examples/train/layer.c examples/train/layer.h \
	examples/train/linear.c examples/train/linear.h \
	examples/train/memory.c examples/train/memory.h \
	examples/train/model.c examples/train/model.h \
	examples/train/optimizer.c examples/train/optimizer.h \
	examples/train/options.c examples/train/options.h \
	examples/train/parameter.c examples/train/parameter.h \
	examples/train/pipeline.c examples/train/pipeline.h \
	examples/train/random.c examples/train/random.h \
	examples/train/router.c examples/train/router.h \
	examples/train/report.c examples/train/report.h \
	examples/train/servers.c examples/train/servers.h \
	examples/train/shape.c examples/train/shape.h \
	examples/train/stage.c examples/train/stage.h
# The public headers only: no -I of the top folder.
examples_train_libtrain_la_CPPFLAGS = -I$(top_srcdir)/include
# OpenMP's simd loops only: no threads, no library. A sqrt() that sets errno could not be in one; clang would
# warn of each that a sanitizer forbids.
examples_train_libtrain_la_CFLAGS = $(AM_CFLAGS) $(DT_BLAS_CFLAGS) -fopenmp-simd -fno-math-errno \
	-Wno-pass-failed
examples_train_libtrain_la_LIBADD = libdtrain.la $(DT_BLAS_LIBS) -lm
examples_train_train_SOURCES = examples/train/train.c
examples_train_train_CPPFLAGS = -I$(top_srcdir)/include
examples_train_train_LDADD = examples/train/libtrain.la libdtrain.la

# What computes on GPUs, loaded from beside the program.
if DT_HAVE_CUBLAS
programmodule_LTLIBRARIES += examples/train/train_cuda.la
-include examples/train/cuda_attention.cu.d
-include examples/train/cuda_elements.cu.d
-include examples/train/cuda_norm.cu.d
-include examples/train/cuda_product.cu.d
CLEANFILES += examples/train/*.cu.d
endif
examples_train_train_cuda_la_SOURCES = \
	examples/train/compute_cuda.c examples/train/compute.h examples/train/compute_fail.c \
	examples/train/cuda.h examples/train/cuda_device.h \
	examples/train/cuda_attention.cu examples/train/cuda_elements.cu examples/train/cuda_norm.cu \
	examples/train/cuda_product.cu \
	examples/train/error.c examples/train/error.h
examples_train_train_cuda_la_CPPFLAGS = -I$(top_srcdir)/include $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
examples_train_train_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(DT_HARDENING_LDFLAGS) -module -avoid-version \
	-export-symbols-regex '^train_compute_open$$'
examples_train_train_cuda_la_LIBADD = libdtrain.la $(DT_CUBLAS_LIBS) $(DT_CUDA_LIBS) -lm
