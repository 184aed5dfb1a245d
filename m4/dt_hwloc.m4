# DT_CHECK_HWLOC: what the plugin and the tools read a node's devices with.
AC_DEFUN([DT_CHECK_HWLOC], [
  DT_LIBRARY([hwloc], [HWLOC], [hwloc >= 2.1], [hwloc.h], [-lhwloc], [hwloc_topology_init], [libhwloc-dev])
])
