# DT_CHECK_NCCL: the NCCL backend, a module of its own; needs CUDA and nvcc. Looked for in --with-nccl=DIR, else
# beside CUDA and in the compiler's own paths.
AC_DEFUN([DT_CHECK_NCCL], [
  AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl=DIR], [prefix of NCCL; "no" builds without])],
    [], [with_nccl=check])
  dt_nccl=no
  dt_nccl_why="--without-nccl"
  DT_NCCL_CFLAGS=
  DT_NCCL_LIBS="-lnccl"
  AS_IF([test "x$with_nccl" != xno && test $dt_nvcc = no], [dt_nccl_why="it needs CUDA: $dt_nvcc_why"])
  AS_IF([test "x$with_nccl" != xno && test $dt_nvcc = yes], [
    AS_CASE([$with_nccl], [check|yes], [],
      [DT_NCCL_CFLAGS="-isystem $with_nccl/include"; DT_NCCL_LIBS="-L$with_nccl/lib -lnccl"])
    dt_saved_CPPFLAGS=$CPPFLAGS
    dt_saved_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $DT_NCCL_CFLAGS $DT_CUDA_CFLAGS"
    LIBS="$DT_NCCL_LIBS $DT_CUDA_LIBS $LIBS"
    dt_nccl_why="nccl.h or -lnccl not found"
    AC_CHECK_HEADER([nccl.h], [
      AC_MSG_CHECKING([for ncclCommInitRankConfig in -lnccl])
      AC_LINK_IFELSE([AC_LANG_CALL([], [ncclCommInitRankConfig])], [dt_nccl=yes], [dt_nccl=no])
      AC_MSG_RESULT([$dt_nccl])
    ])
    CPPFLAGS=$dt_saved_CPPFLAGS
    LIBS=$dt_saved_LIBS
  ])
  AS_IF([test $dt_nccl = no], [
    AS_CASE([$with_nccl], [check|no], [], [AC_MSG_ERROR([--with-nccl=$with_nccl: $dt_nccl_why])])
  ])
  AM_CONDITIONAL([DT_HAVE_NCCL], [test $dt_nccl = yes])
  AC_SUBST([DT_NCCL_CFLAGS])
  AC_SUBST([DT_NCCL_LIBS])
])
