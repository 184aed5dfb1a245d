# train beside a plain C program and PyTorch, and the library's share of it.
if DT_HAVE_BLAS
check_PROGRAMS += bench/plain_train
slurm_check_programs += bench/plain_train
endif
bench_plain_train_SOURCES = bench/plain_train.c bench/plain_parameters.c bench/plain_operations.c \
	bench/plain.h
bench_plain_train_CFLAGS = $(AM_CFLAGS) $(DT_BLAS_CFLAGS) -fno-math-errno
bench_plain_train_LDADD = $(DT_BLAS_LIBS) -lm
EXTRA_DIST += bench/train.sh bench/torch_train.py bench/share.sh
