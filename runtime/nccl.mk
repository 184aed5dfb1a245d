# The NCCL module, which libdtrain loads on demand. libnccl is found at run time; CUDA's kernels need libcudart.
if DT_HAVE_NCCL
# Sources that name NCCL or CUDA; tests build a module of their own from them.
dt_nccl_sources = \
	runtime/nccl_abort.c runtime/nccl_abort.h \
	runtime/nccl_api.c runtime/nccl_api.h \
	runtime/nccl_batch.c runtime/nccl_batch.h \
	runtime/nccl_backend.c runtime/backend_nccl.h runtime/backend.h \
	runtime/nccl_comm.c runtime/nccl_comm.h \
	runtime/nccl_config.c runtime/nccl_config.h \
	runtime/nccl_device.c runtime/nccl_device.h \
	runtime/nccl_end.c \
	runtime/nccl_init.c runtime/nccl_init.h \
	runtime/nccl_math.h \
	runtime/nccl_memory.c runtime/nccl_memory.h \
	runtime/nccl_native.c runtime/nccl_native.h \
	runtime/nccl_op.c runtime/nccl_op.h \
	runtime/nccl_platform.h runtime/nccl_state.h \
	runtime/nccl_stream.c runtime/nccl_stream.h \
	runtime/deadline.c runtime/deadline.h \
	runtime/operation.c runtime/operation.h \
	runtime/thread.c runtime/thread.h \
	runtime/type.c runtime/type.h
dt_nccl_cflags = $(AM_CFLAGS) $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
lib_LTLIBRARIES += libdtrain_nccl.la
include_HEADERS += include/dtrain_nccl.h
libdtrain_nccl_la_SOURCES = $(dt_nccl_sources)
libdtrain_nccl_la_CFLAGS = $(dt_nccl_cflags)
libdtrain_nccl_la_LDFLAGS = $(AM_LDFLAGS) $(DT_HARDENING_LDFLAGS) -module -avoid-version \
	-export-symbols-regex '^dt_backend_nccl$$'
libdtrain_nccl_la_LIBADD = libdtcore.la $(DT_CUDA_LIBS) -lpthread -ldl

# Of libdtrain: dtrain_nccl.h.
libdtworld_la_SOURCES += runtime/nccl_public.c
libdtworld_la_CFLAGS += $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
else
EXTRA_DIST += include/dtrain_nccl.h
endif
