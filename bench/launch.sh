#!/bin/bash
# What dtrain costs when a step starts: launch.sh BUILDDIR [RUNS]. Times srun -N4 --ntasks-per-node=8 true on a
# lab of its own, the kinds in turn, and prints the medians and their ratios.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: launch.sh BUILDDIR [RUNS]}" && pwd)
DT_LAB=bench
runs=${2:-21}
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up
results=$(mktemp -d)

# kind NAME PLUGSTACK-LINE OPTION…: one run, its milliseconds added to the kind's file.
kind() {
  local name=$1 began ended
  printf '%s\n' "$2" >"$DT_PLUGSTACK"
  shift 2
  began=$(date +%s%N)
  stage_lab run -- srun -N4 --ntasks-per-node=8 "$@" true
  ended=$(date +%s%N)
  echo $(((ended - began) / 10000)) >>"$results/$name"
}

median() { sort -n "$results/$1" | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / 100 }'; }

line() { printf '%-44s %8s ms  %5.2f\n' "$1" "$(median "$2")" "$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { print a / b }')"; }

for ((i = 0; i < runs; i++)); do
  kind plain ''
  kind loaded "required $DT_PLUGIN"
  kind pmix '' --mpi=pmix
  kind dtrain "required $DT_PLUGIN" --dtrain-tp=8 --dtrain-pp=2
done
printf 'srun -N4 --ntasks-per-node=8 true, median of %d runs   (ratio to the line it is compared with)\n' "$runs"
line 'no plugin' plain plain
line 'plugin, no dtrain option / no plugin' loaded plain
line '--mpi=pmix, no plugin' pmix pmix
line '--dtrain-tp=8 --dtrain-pp=2 / --mpi=pmix' dtrain pmix
rm -r "$results"
