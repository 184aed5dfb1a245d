# DT_CHECK_CUDA: the CUDA toolkit, found by nvcc on the PATH or --with-cuda=DIR.
AC_DEFUN([DT_CHECK_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR], [prefix of the CUDA toolkit; "no" builds without])],
    [], [with_cuda=check])
  dt_cuda=no
  dt_cuda_why="--without-cuda"
  DT_CUDA_CFLAGS=
  DT_CUDA_LIBS=
  AS_IF([test "x$with_cuda" != xno], [
    AS_CASE([$with_cuda], [check|yes], [
      AC_PATH_PROG([NVCC], [nvcc])
      dt_cuda_dir=
      AS_IF([test -n "$NVCC"],
        [dt_cuda_dir=`"$NVCC" --dryrun -E -x cu /dev/null 2>&1 | $SED -n 's/^#\\$ _HERE_=\\(.*\\)\\/bin$/\\1/p'`])
    ], [dt_cuda_dir=$with_cuda; NVCC=$with_cuda/bin/nvcc])
    dt_cuda_why="no nvcc on the PATH"
    AS_IF([test -n "$dt_cuda_dir"], [
      DT_CUDA_CFLAGS="-isystem $dt_cuda_dir/include"
      for dt_lib in lib64 lib; do
        test -e "$dt_cuda_dir/$dt_lib/libcudart.so" && DT_CUDA_LIBDIR="$dt_cuda_dir/$dt_lib" && break
      done
      DT_CUDA_LIBS="-L$DT_CUDA_LIBDIR -lcudart"
      dt_saved_CPPFLAGS=$CPPFLAGS
      dt_saved_LIBS=$LIBS
      CPPFLAGS="$CPPFLAGS $DT_CUDA_CFLAGS"
      LIBS="$DT_CUDA_LIBS $LIBS"
      AC_CHECK_HEADER([cuda_runtime_api.h], [
        AC_MSG_CHECKING([for cudaStreamCreate in -lcudart])
        AC_LINK_IFELSE([AC_LANG_CALL([], [cudaStreamCreate])], [dt_cuda=yes], [dt_cuda=no])
        AC_MSG_RESULT([$dt_cuda])
      ])
      CPPFLAGS=$dt_saved_CPPFLAGS
      LIBS=$dt_saved_LIBS
      dt_cuda_why="cuda_runtime_api.h or -lcudart not found in $dt_cuda_dir"
    ])
    AS_IF([test $dt_cuda = no && test "x$with_cuda" != xcheck],
      [AC_MSG_ERROR([--with-cuda=$with_cuda: $dt_cuda_why])])
  ])
  AM_CONDITIONAL([DT_HAVE_CUDA], [test $dt_cuda = yes])
  AC_SUBST([NVCC])
  AC_SUBST([DT_CUDA_CFLAGS])
  AC_SUBST([DT_CUDA_LIBS])
])
