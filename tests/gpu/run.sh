#!/bin/bash
# run.sh BUILDDIR: the tests that need a GPU; those of kernels once more under compute-sanitizer.
# Ends with 1 when one failed. Where there is no GPU each says so and is skipped.
set -u
DT_SRCDIR=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
DT_BUILDDIR=$(cd "$1" && pwd) || exit 1
export DT_SRCDIR DT_BUILDDIR
failed=0

# one NAME CMD…: shows its output, and keeps whether it failed.
one() {
  local name=$1 status=0
  shift
  printf '== %s\n' "$name"
  "$@" || status=$?
  [ "$status" = 0 ] || failed=1
  return "$status"
}

one math "$DT_BUILDDIR/tests/gpu/math_test"
one compute "$DT_BUILDDIR/tests/gpu/compute_test"
one comm "$DT_BUILDDIR/tests/gpu/comm_test"
one train bash "$DT_SRCDIR/tests/gpu/train_test.sh"

if command -v compute-sanitizer >/dev/null; then
  for test in math compute; do
    one "$test under compute-sanitizer" compute-sanitizer --target-processes all --error-exitcode 1 \
      "$DT_BUILDDIR/tests/gpu/${test}_test"
  done
else
  echo "== compute-sanitizer: skipped, it is not on the PATH"
fi

# What NCCL's own program measures, to be read beside comm's lines.
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU')
if ! command -v all_reduce_perf >/dev/null; then
  echo "== nccl-tests: skipped, all_reduce_perf is not on the PATH"
elif [ "$gpus" -lt 2 ]; then
  echo "== nccl-tests: skipped, they need 2 GPUs, here are $gpus"
else
  one nccl-tests all_reduce_perf -b 64M -e 64M -g "$gpus"
fi
exit $failed
