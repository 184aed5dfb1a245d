# A program of NCCL's, the way with MPI beside that with dtrain; the first is built by hand where there is an MPI.
EXTRA_DIST += examples/nccl/allreduce_mpi.c
if DT_HAVE_NCCL
pkglibexec_PROGRAMS += examples/nccl/allreduce
examples_nccl_allreduce_SOURCES = examples/nccl/allreduce_dtrain.c examples/nccl/allreduce.c examples/nccl/allreduce.h
examples_nccl_allreduce_CFLAGS = $(AM_CFLAGS) $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
examples_nccl_allreduce_LDADD = libdtrain.la $(DT_NCCL_LIBS) $(DT_CUDA_LIBS)
else
EXTRA_DIST += examples/nccl/allreduce_dtrain.c examples/nccl/allreduce.c examples/nccl/allreduce.h
endif
