# DT_CHECK_EXPAT: what `dtrain topo` reads NCCL's topology XML with.
AC_DEFUN([DT_CHECK_EXPAT], [
  DT_LIBRARY([expat], [EXPAT], [expat], [expat.h], [-lexpat], [XML_ParserCreate], [libexpat1-dev])
])
