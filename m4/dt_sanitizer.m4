# DT_SANITIZER: --enable-sanitizer=address,undefined compiles and links everything but the plugin
# that Slurm loads with these sanitizers (slurmstepd itself is not built with them).
AC_DEFUN([DT_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST], [sanitizers, for instance address,undefined])],
    [], [enable_sanitizer=no])
  DT_SANITIZER_FLAGS=
  AS_IF([test "x$enable_sanitizer" = xyes], [enable_sanitizer=address,undefined])
  AS_IF([test "x$enable_sanitizer" != xno], [
    DT_SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer -fno-sanitize-recover=all"
    dt_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $DT_SANITIZER_FLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([])], [],
      [AC_MSG_ERROR([$CC cannot build with -fsanitize=$enable_sanitizer])])
    CFLAGS=$dt_saved_CFLAGS
  ])
  AC_SUBST([DT_SANITIZER_FLAGS])
])
