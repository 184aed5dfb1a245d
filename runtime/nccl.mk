if DT_HAVE_NCCL
lib_LTLIBRARIES += libdtrain_nccl.la
libdtrain_nccl_la_SOURCES = runtime/backend_nccl.c runtime/backend_nccl.h runtime/backend.h \
	runtime/deadline.c runtime/deadline.h runtime/type.c runtime/type.h
libdtrain_nccl_la_CFLAGS = $(AM_CFLAGS) $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
libdtrain_nccl_la_LDFLAGS = $(AM_LDFLAGS) $(DT_HARDENING_LDFLAGS) -module -avoid-version \
	-export-symbols-regex '^dt_backend_nccl$$'
libdtrain_nccl_la_LIBADD = libdtcore.la $(DT_NCCL_LIBS) $(DT_CUDA_LIBS) -lpthread
endif
