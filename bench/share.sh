#!/bin/bash
# The library's share of examples/train: share.sh BUILDDIR [STEPS]. Instructions by callgrind, of all of
# libdtrain and of what does not reduce or copy data; of the STEPS after the first, so that bring-up and
# initial weights are not in it; on 1 rank, and on 2 ranks of one node of a lab of its own: dp 2, tp 2. The C
# library's memcpy() is not counted as libdtrain's.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: share.sh BUILDDIR [STEPS]}" && pwd)
DT_LAB=share
steps=${2:-4}
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up --nodes 1
results=$DT_PROGRAMS/share # the tasks have a /tmp of their own
mkdir -p "$results"
chmod 1777 "$results"

# What moves or sums elements; everything else is the library's own.
data='dt_host_reduce|host_reduce.c|dt_host_divide|copy_in|copy_out'

# count LAYOUT STEPS OPTION…: callgrind's lines, "INSTRUCTIONS FUNCTION [OBJECT]", of rank 0.
count() {
  local file=$results/$1.$2
  stage_lab run -- srun "${@:3}" valgrind --tool=callgrind "--callgrind-out-file=$file.%q{SLURM_PROCID}" \
    "$DT_PROGRAMS/train" --steps "$2" >/dev/null 2>"$file.log"
  callgrind_annotate --threshold=100 "$file.0" | tr -d , |
    sed -n 's/^ *\([0-9][0-9]*\) ([ 0-9.]*%)  *\(.*\)/\1 \2/p'
}

# share LAYOUT OPTION…: prints a line.
share() {
  local layout=$1
  shift
  {
    count "$layout" 1 "$@" | sed 's/^/-/'
    count "$layout" $((steps + 1)) "$@"
  } | awk -v layout="$layout" -v data="$data" '
    /PROGRAM TOTALS/ { all += $1 }
    /libdtrain/ { lib += $1; if ($0 !~ data) own += $1 }
    END {
      printf "%-8s %14d  libdtrain %6.2f %%, without data loops %6.2f %%\n", layout, all, 100 * lib / all,
        100 * own / all
    }'
}

printf 'instructions of rank 0 in %d steps\n' "$steps"
share 1 -n1
share dp2 -n2 --dtrain-backend=host --dtrain-tp=1
share tp2 -n2 --dtrain-backend=host --dtrain-tp=2
