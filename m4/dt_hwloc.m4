# DT_CHECK_HWLOC: what the plugin and the tools read a node's devices with. Nothing binds without it.
AC_DEFUN([DT_CHECK_HWLOC], [
  DT_LIBRARY([hwloc], [HWLOC], [hwloc >= 2.1], [hwloc.h], [-lhwloc], [hwloc_topology_init], [libhwloc-dev])
  AS_IF([test $dt_hwloc = no], [AC_MSG_ERROR([hwloc is needed: $dt_hwloc_why])])
])
