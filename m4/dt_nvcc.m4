# DT_CHECK_NVCC: whether $NVCC builds kernels; after DT_CHECK_CUDA and DT_WARNINGS. NVCCFLAGS chooses the GPUs that
# code is made for: by default each of 8.0, 9.0 and 10.0 that this nvcc knows, and PTX of the first for all others.
# Ours first, so that what the user says wins. The host compiler must not put C++'s runtime into modules of C.
AC_DEFUN([DT_CHECK_NVCC], [
  AC_ARG_VAR([NVCCFLAGS], [flags of nvcc, for instance -O3 -arch=sm_90 or -ccbin=g++-12])
  dt_nvcc=no
  dt_nvcc_why=$dt_cuda_why
  DT_NVCCFLAGS="-std=c++17 -Xcompiler=-Wall,-Wextra,-fvisibility=hidden"
  DT_NVCCFLAGS="$DT_NVCCFLAGS -Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
  AS_IF([test "x$enable_werror" = xyes], [DT_NVCCFLAGS="$DT_NVCCFLAGS -Werror=all-warnings -Xcompiler=-Werror"])
  AS_IF([test $dt_cuda = yes], [
    AS_IF([test -z "$NVCCFLAGS"], [
      NVCCFLAGS=-O3
      dt_ptx=yes
      for dt_arch in 80 90 100; do
        AS_IF(["$NVCC" --list-gpu-code 2>/dev/null | $GREP -qx "sm_$dt_arch"], [
          dt_code=sm_$dt_arch
          test $dt_ptx = yes && dt_code="@<:@sm_$dt_arch,compute_$dt_arch@:>@"
          NVCCFLAGS="$NVCCFLAGS -gencode=arch=compute_$dt_arch,code=$dt_code"
          dt_ptx=no
        ])
      done
    ])
    AC_MSG_CHECKING([whether nvcc builds kernels])
    echo '__global__ void k(float *x) { *x = 0; } void f(float *x) { k<<<1, 1>>>(x); }' >conftest.cu
    AS_IF([$SHELL "$srcdir/build-aux/nvcc.sh" "$NVCC" $NVCCFLAGS $DT_NVCCFLAGS -c -o conftest.o conftest.cu \
      >conftest.nvcc 2>&1], [dt_nvcc=yes])
    AC_MSG_RESULT([$dt_nvcc])
    AS_IF([test $dt_nvcc = no], [
      dt_nvcc_why="$NVCC cannot build a kernel (config.log says why)"
      cat conftest.nvcc >&AS_MESSAGE_LOG_FD
    ])
    rm -f conftest.cu conftest.o conftest.nvcc
  ])
  AM_CONDITIONAL([DT_HAVE_NVCC], [test $dt_nvcc = yes])
  AC_SUBST([DT_NVCCFLAGS])
])
