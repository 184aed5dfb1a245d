# DT_FUZZER: --enable-fuzzer links the harnesses of tests/fuzz with clang's libFuzzer; without it they
# are built with a driver of our own that mutates a seed corpus for a fixed number of runs.
AC_DEFUN([DT_FUZZER], [
  AC_ARG_ENABLE([fuzzer], [AS_HELP_STRING([--enable-fuzzer], [link the fuzz harnesses with libFuzzer (clang)])],
    [], [enable_fuzzer=no])
  DT_FUZZER_FLAGS=
  AS_IF([test "x$enable_fuzzer" != xno], [
    DT_FUZZER_FLAGS="-fsanitize=fuzzer"
    dnl Without this in all code libFuzzer does not see which input reached what.
    DT_SANITIZER_FLAGS="$DT_SANITIZER_FLAGS -fsanitize=fuzzer-no-link"
    dt_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([])], [],
      [AC_MSG_ERROR([--enable-fuzzer: $CC has no libFuzzer; use CC=clang])])
    CFLAGS=$dt_saved_CFLAGS
  ])
  AM_CONDITIONAL([DT_LIBFUZZER], [test "x$enable_fuzzer" != xno])
  AC_SUBST([DT_FUZZER_FLAGS])
])
