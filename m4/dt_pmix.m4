# DT_CHECK_PMIX: what the library reads its place in the step from.
AC_DEFUN([DT_CHECK_PMIX], [
  DT_LIBRARY([pmix], [PMIX], [pmix], [pmix.h], [-lpmix], [PMIx_Init], [libpmix-dev])
])
