# DT_CHECK_SLURM: the headers of the Slurm that will load the plugin. Slurm refuses a plugin of another
# major.minor release, so the version found is reported.
AC_DEFUN([DT_CHECK_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=DIR], [prefix of Slurm (include/slurm/spank.h); "no" builds no plugin])],
    [], [with_slurm=check])
  AC_ARG_WITH([slurm-plugindir], [AS_HELP_STRING([--with-slurm-plugindir=DIR], [where the plugin is installed @<:@LIBDIR/slurm@:>@])],
    [slurmplugindir=$withval], [slurmplugindir='${libdir}/slurm'])
  DT_SLURM_CPPFLAGS=
  dt_slurm=no
  dt_slurm_why="--without-slurm"
  AS_IF([test "x$with_slurm" != xno], [
    AS_CASE([$with_slurm], [check|yes], [], [DT_SLURM_CPPFLAGS="-I$with_slurm/include"])
    dt_saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $DT_SLURM_CPPFLAGS"
    AC_CHECK_HEADER([slurm/spank.h], [dt_slurm=yes],
      [dt_slurm_why="slurm/spank.h not found (Debian: libslurm-dev)"], [#include <slurm/slurm.h>])
    AS_IF([test $dt_slurm = yes], [
      AC_COMPUTE_INT([dt_slurm_number], [SLURM_VERSION_NUMBER], [#include <slurm/slurm.h>], [dt_slurm_number=0])
      dt_slurm_version=`printf '%d.%02d.%d' $(( (dt_slurm_number >> 16) & 255 )) $(( (dt_slurm_number >> 8) & 255 )) $(( dt_slurm_number & 255 ))`
    ])
    AC_CHECK_MEMBER([topo_info_response_msg_t.topo_array], [], [], [#include <slurm/slurm.h>])
    CPPFLAGS=$dt_saved_CPPFLAGS
    AS_IF([test $dt_slurm = no && test "x$with_slurm" != xcheck],
      [AC_MSG_ERROR([--with-slurm=$with_slurm: $dt_slurm_why])])
  ])
  AM_CONDITIONAL([DT_HAVE_SLURM_TOPO], [test "x$ac_cv_member_topo_info_response_msg_t_topo_array" = xyes])
  AM_CONDITIONAL([DT_HAVE_SLURM], [test $dt_slurm = yes])
  AC_SUBST([DT_SLURM_CPPFLAGS])
  AC_SUBST([slurmplugindir])
])
