# DT_LIBRARY(name, VARIABLE, pkg-config module, header, library, function, Debian package):
# --with-NAME[=DIR]; pkg-config first, else the header and the library by their usual names. Sets
# dt_NAME (yes, no), dt_NAME_why, DT_VARIABLE_CFLAGS and DT_VARIABLE_LIBS.
AC_DEFUN([DT_LIBRARY], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [prefix of $1; "no" builds without])],
    [], [with_$1=check])
  dt_$1=no
  dt_$1_why="--without-$1"
  DT_$2_CFLAGS=
  DT_$2_LIBS=
  AS_IF([test "x$with_$1" != xno], [
    AS_CASE([$with_$1],
      [check|yes], [PKG_CHECK_MODULES([DT_$2], [$3], [dt_$1=yes], [dt_$1=no])],
      [DT_$2_CFLAGS="-I$with_$1/include"; DT_$2_LIBS="-L$with_$1/lib $5"])
    AS_IF([test $dt_$1 = no], [
      test -n "$DT_$2_LIBS" || DT_$2_LIBS="$5"
      dt_saved_CPPFLAGS=$CPPFLAGS
      dt_saved_LIBS=$LIBS
      CPPFLAGS="$CPPFLAGS $DT_$2_CFLAGS"
      LIBS="$DT_$2_LIBS $LIBS"
      AC_CHECK_HEADER([$4], [
        AC_MSG_CHECKING([for $6 in $5])
        AC_LINK_IFELSE([AC_LANG_CALL([], [$6])], [dt_$1=yes], [dt_$1=no])
        AC_MSG_RESULT([$dt_$1])
      ])
      CPPFLAGS=$dt_saved_CPPFLAGS
      LIBS=$dt_saved_LIBS
    ])
    AS_IF([test $dt_$1 = no], [
      dt_$1_why="$4 or $5 not found (Debian: $7)"
      AS_IF([test "x$with_$1" != xcheck], [AC_MSG_ERROR([--with-$1=$with_$1: $dt_$1_why])])
    ])
  ])
  AM_CONDITIONAL([DT_HAVE_$2], [test $dt_$1 = yes])
])
