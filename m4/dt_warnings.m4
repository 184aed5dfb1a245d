# DT_WARNINGS: the warnings of this project in DT_CFLAGS; --enable-werror makes them errors.
AC_DEFUN([DT_TRY_CFLAG], [
  AC_MSG_CHECKING([whether $CC takes $1])
  dt_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([])],
    [AC_MSG_RESULT([yes]); DT_CFLAGS="$DT_CFLAGS $1"], [AC_MSG_RESULT([no])])
  CFLAGS=$dt_saved_CFLAGS
])

AC_DEFUN([DT_WARNINGS], [
  DT_CFLAGS="-std=gnu11"
  m4_foreach_w([dt_flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 -fno-common],
    [DT_TRY_CFLAG(dt_flag)])
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make warnings errors])])
  AS_IF([test "x$enable_werror" = xyes], [DT_CFLAGS="$DT_CFLAGS -Werror"])
  AC_SUBST([DT_CFLAGS])
])
