# DT_CHECK_CUBLAS: the matrix products of examples/train on GPUs, a module of its own; after DT_CHECK_NCCL.
AC_DEFUN([DT_CHECK_CUBLAS], [
  dt_cublas=no
  dt_cublas_why="it needs the NCCL backend"
  DT_CUBLAS_LIBS="-L$DT_CUDA_LIBDIR -lcublas"
  AS_IF([test $dt_nccl = yes], [
    dt_cublas_why="cublas_v2.h or -lcublas not found"
    dt_saved_CPPFLAGS=$CPPFLAGS
    dt_saved_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $DT_CUDA_CFLAGS"
    LIBS="$DT_CUBLAS_LIBS $DT_CUDA_LIBS $LIBS"
    AC_CHECK_HEADER([cublas_v2.h], [
      AC_MSG_CHECKING([for cublasGemmEx in -lcublas])
      AC_LINK_IFELSE([AC_LANG_CALL([], [cublasGemmEx])], [dt_cublas=yes], [dt_cublas=no])
      AC_MSG_RESULT([$dt_cublas])
    ])
    CPPFLAGS=$dt_saved_CPPFLAGS
    LIBS=$dt_saved_LIBS
  ])
  AM_CONDITIONAL([DT_HAVE_CUBLAS], [test $dt_cublas = yes && test $dt_openblas = yes])
  AC_SUBST([DT_CUBLAS_LIBS])
])
