#!/bin/bash
# The model of examples/train in PyTorch, by its autograd: the same loss and the same gradient of every tensor.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

python=/usr/bin/python3
if ! "$python" -c 'import torch' 2>/dev/null; then
  t_skip "the model in PyTorch" "no torch at $python"
  t_done
  exit
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
limit=1e-9 # both compute in float64

t_ok "a step is written down" env -u SLURM_DTRAIN_PLAN -u SLURM_PROCID -u SLURM_STEP_NUM_TASKS \
  bash -c '"$1" "$2/data" >"$2/index"' - "$DT_BUILDDIR/tests/unit/train_dump" "$dir"
out=$(OMP_NUM_THREADS=1 timeout 120 "$python" "$DT_SRCDIR/tests/cli/train_torch.py" "$dir/index" "$dir/data" 2>&1)
t_is "PyTorch has the loss and the gradients of all 29 tensors" "$(grep -cE ' [0-9.]+e[-+][0-9]+$' <<<"$out")" 30
while read -r name difference; do
  t_ok "$name differs by $difference" awk -v d="$difference" -v limit=$limit 'BEGIN { exit !(d ~ /^[0-9.]+e/ && d + 0 <= limit + 0) }'
done <<<"$out"
t_done
