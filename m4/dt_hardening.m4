# DT_HARDENING: flags for code that runs as root. _FORTIFY_SOURCE needs optimisation and would hide
# what the sanitizers look for; clang leaves their symbols to the program, so -z defs goes, too.
AC_DEFUN([DT_HARDENING], [
  DT_HARDENING_CFLAGS="-fstack-protector-strong"
  DT_HARDENING_LDFLAGS="-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack"
  AS_IF([test "x$enable_sanitizer" = xno], [
    DT_HARDENING_LDFLAGS="$DT_HARDENING_LDFLAGS -Wl,-z,defs"
    AS_CASE([" $CFLAGS "], [*\ -O@<:@123s@:>@\ *],
      [DT_HARDENING_CFLAGS="$DT_HARDENING_CFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"])
  ])
  AC_SUBST([DT_HARDENING_CFLAGS])
  AC_SUBST([DT_HARDENING_LDFLAGS])
])
