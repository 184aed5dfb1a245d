# DT_CHECK_BLAS: the matrix products of examples/train on the CPU.
AC_DEFUN([DT_CHECK_BLAS], [
  DT_LIBRARY([openblas], [BLAS], [openblas], [cblas.h], [-lopenblas], [cblas_sgemm], [libopenblas-dev])
])
