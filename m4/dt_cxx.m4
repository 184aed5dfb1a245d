# DT_CHECK_CXX: a C++ compiler for the tests that run CUDA's kernels on the CPU; the one of $CC's own kind, as its
# objects are linked by $CC, perhaps with sanitizers. After DT_WARNINGS, DT_SANITIZER and DT_CHECK_CUBLAS.
AC_DEFUN([DT_CHECK_CXX], [
  AC_ARG_VAR([CXX], [C++ compiler, of tests only])
  AC_ARG_VAR([CXXFLAGS], [flags of it])
  dt_cxx=no
  dt_cxx_why="they need examples/train on GPUs"
  DT_CXXFLAGS="-std=c++17 -Wall -Wextra -fvisibility=hidden"
  DT_CXXFLAGS="$DT_CXXFLAGS -fno-exceptions -fno-rtti -fno-threadsafe-statics"
  AS_IF([test "x$enable_werror" = xyes], [DT_CXXFLAGS="$DT_CXXFLAGS -Werror"])
  # Without C++'s runtime there are no types to look at.
  AS_IF([test "x$enable_sanitizer" != xno], [
    DT_CXXFLAGS="$DT_CXXFLAGS $DT_SANITIZER_FLAGS -fno-sanitize=vptr"
    AS_CASE(["$CC"], [*clang*], [DT_CXXFLAGS="$DT_CXXFLAGS -fno-sanitize=function"])
  ])
  AS_IF([test $dt_cublas = yes && test $dt_openblas = yes], [
    dt_cxx_why="no C++ compiler found (g++, or clang++ for clang)"
    AS_CASE(["$CC"], [*clang*], [AC_CHECK_PROGS([CXX], [clang++])], [AC_CHECK_PROGS([CXX], [g++ clang++ c++])])
    test "${CXXFLAGS+set}" = set || CXXFLAGS="-g -O2"
    AS_IF([test -n "$CXX"], [
      AC_MSG_CHECKING([whether $CXX compiles C++17 for $CC])
      echo '@%:@include <tuple>
        @%:@include <cuda_bf16.h>
        std::tuple<int> t; extern "C" int f() { return std::apply(@<:@@:>@(auto... a) { return (a + ...); }, t); }
        ' >conftest.cc
      echo 'int f(void); int main(void) { return f(); }' >conftest.c
      AS_IF([$CXX $CPPFLAGS $DT_CUDA_CFLAGS $DT_CXXFLAGS $CXXFLAGS -c -o conftest.1.o conftest.cc \
          >conftest.cxx 2>&1 &&
        $CC $DT_SANITIZER_FLAGS $CFLAGS -o conftest conftest.c conftest.1.o >>conftest.cxx 2>&1], [dt_cxx=yes])
      AC_MSG_RESULT([$dt_cxx])
      AS_IF([test $dt_cxx = no], [
        dt_cxx_why="$CXX does not compile C++17 with CUDA's headers (config.log says why)"
        cat conftest.cxx >&AS_MESSAGE_LOG_FD
      ])
      rm -f conftest conftest.c conftest.cc conftest.1.o conftest.cxx
    ])
  ])
  AM_CONDITIONAL([DT_HAVE_CXX], [test $dt_cxx = yes])
  AC_SUBST([DT_CXXFLAGS])
])
