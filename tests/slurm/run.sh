#!/bin/bash
# Runs the tests that need a Slurm cluster, on a lab of their own: run.sh BUILDDIR [TEST…], a TEST being the
# name of a file here without _test.sh. Prints TAP; the last line is "N passed, N failed, N skipped".
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/../.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: run.sh BUILDDIR [TEST…]}" && pwd)
DT_LAB=${DT_LAB:-check}
export DT_SRCDIR DT_BUILDDIR DT_LAB
shift
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"

passed=0 failed=0 skipped=0

run_test() {
  local name=$1 log=$DT_BUILDDIR/slurm-$1.log rc=0 start=$SECONDS
  printf '# %s\n' "$name"
  timeout 900 bash "$DT_SRCDIR/tests/slurm/${name}_test.sh" >"$log" 2>&1 || rc=$?
  cat "$log"
  passed=$((passed + $(grep -c '^ok ' "$log" || true) - $(grep -c '^ok .*# SKIP' "$log" || true)))
  skipped=$((skipped + $(grep -c '^ok .*# SKIP' "$log" || true)))
  failed=$((failed + $(grep -c '^not ok ' "$log" || true)))
  if [ $rc != 0 ] && ! grep -q '^not ok ' "$log" || ! grep -q '^1\.\.' "$log"; then
    printf 'not ok - %s ended with status %s before its plan\n' "$name" "$rc"
    failed=$((failed + 1))
  fi
  printf '# %s took %d s\n' "$name" $((SECONDS - start))
}

stage_up
if [ $# = 0 ]; then
  for file in "$DT_SRCDIR"/tests/slurm/*_test.sh; do
    name=${file##*/}
    set -- "$@" "${name%_test.sh}"
  done
fi
for name in "$@"; do
  run_test "$name"
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
