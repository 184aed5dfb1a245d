#!/bin/bash
# From main() to all communicators: bringup.sh BUILDDIR [RUNS]. examples/hello at 4 nodes x 8 tasks (tp 8, pp 2,
# dp 2) and a bare PMIx program with the same calls, in turn, on a lab of its own; medians of the phases.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: bringup.sh BUILDDIR [RUNS]}" && pwd)
DT_LAB=bench
runs=${2:-15}
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up
results=$(mktemp)

for ((i = 0; i < runs; i++)); do
  stage_lab run -- srun -N4 --ntasks-per-node=8 --mpi=pmix "$DT_PROGRAMS/bare_pmix" >>"$results"
  DTRAIN_LOG=info stage_lab run -- srun -N4 --ntasks-per-node=8 --dtrain-tp=8 --dtrain-pp=2 --dtrain-backend=host \
    "$DT_PROGRAMS/hello" 2>&1 | sed -n 's/^.*dtrain: up in/dtrain: up in/p' >>"$results"
done
printf 'task 0 of 32, median of %d runs, ms\n' "$runs"
awk '
  /up in/ {
    who = /^bare/ ? "bare PMIx" : "dtrain"
    sub(/;.*/, ""); sub(/^[^:]*: up in /, "total "); sub(/ ms: /, ", ")
    n = split($0, parts, ", ")
    for (i = 1; i <= n; i++) {
      match(parts[i], / [0-9.]+/)
      name = substr(parts[i], 1, RSTART - 1)
      value = substr(parts[i], RSTART + 1, RLENGTH - 1)
      key = who SUBSEP name
      if (!(key in count)) { order[++keys] = key }
      values[key, ++count[key]] = value + 0
    }
  }
  function median(key,   i, j, t, m, v) {
    m = count[key]
    for (i = 1; i <= m; i++) v[i] = values[key, i]
    for (i = 2; i <= m; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return v[int((m + 1) / 2)]
  }
  END {
    for (i = 1; i <= keys; i++) { split(order[i], k, SUBSEP); printf "%-10s %-16s %8.1f\n", k[1], k[2], median(order[i]) }
    printf "dtrain / bare PMIx %.2f\n", median("dtrain" SUBSEP "total") / median("bare PMIx" SUBSEP "total")
  }' "$results"
rm "$results"
