#!/bin/bash
# Runs the tests that need a Slurm cluster, on a lab of their own: run.sh BUILDDIR [TEST…], a TEST being the
# name of a file here without _test.sh. Prints TAP; the last line is "N passed, N failed, N skipped".
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/../.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: run.sh BUILDDIR [TEST…]}" && pwd)
DT_LAB=${DT_LAB:-check}
export DT_SRCDIR DT_BUILDDIR DT_LAB
shift

passed=0 failed=0 skipped=0

lab() { "$DT_SRCDIR/lab/lab" "$1" --name "$DT_LAB" "${@:2}"; }

# shellcheck disable=SC2329  # called by the trap
finish() {
  local rc=$?
  lab down >/dev/null || rc=1
  exit "$rc"
}

stage() {
  local dir
  dir=$(lab status | sed -n 's/^dir: //p')
  DT_PLUGSTACK=$(lab status | sed -n 's/^plugstack.conf: //p')
  DT_STAGE=$dir/root
  DT_PROGRAMS=$dir/programs
  export DT_STAGE DT_PROGRAMS DT_PLUGSTACK
  make -C "$DT_BUILDDIR" -s install "DESTDIR=$DT_STAGE" >"$DT_BUILDDIR/stage.log" 2>&1 ||
    { tail -n 20 "$DT_BUILDDIR/stage.log" >&2; return 1; }
  make -C "$DT_BUILDDIR" -s stage-programs "PROGRAMSDIR=$DT_PROGRAMS" >>"$DT_BUILDDIR/stage.log" 2>&1 ||
    { tail -n 20 "$DT_BUILDDIR/stage.log" >&2; return 1; }
  libdir=$(dirname "$(find "$DT_STAGE" -name 'libdtrain.so*' -type l | head -n 1)")
  plugin=$(find "$DT_STAGE" -name spank_dtrain.so)
  export LD_LIBRARY_PATH=$libdir
  printf 'required %s\n' "$plugin" >"$DT_PLUGSTACK"
}

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

trap finish EXIT
lab up
stage
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
