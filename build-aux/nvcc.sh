#!/bin/sh
# nvcc.sh NVCC ARG…: runs nvcc as libtool runs a C compiler. What nvcc does not know (-fPIC, -Wall, -m64 and the
# like, from libtool or from NVCCFLAGS) goes to the host compiler.
nvcc=$1
shift
n=$#
while [ "$n" -gt 0 ]; do
  arg=$1
  shift
  n=$((n - 1))
  case $arg in
    -fmad=* | -maxrregcount* | -m64 | -Werror=all-warnings) set -- "$@" "$arg" ;;
    -f* | -m* | -W* | -pthread | -pipe) set -- "$@" -Xcompiler "$arg" ;;
    *) set -- "$@" "$arg" ;;
  esac
done
exec "$nvcc" "$@"
