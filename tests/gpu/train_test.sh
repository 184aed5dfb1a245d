#!/bin/bash
# examples/train on one GPU: the losses of the CPU.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

train=$DT_BUILDDIR/examples/train/train
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for i in $(seq 400); do printf 'The %s. line of a text to learn from. ' "$i"; done >"$dir/text"

# One task outside Slurm, whatever step this test itself may run in.
run() {
  env -u SLURM_DTRAIN_PLAN -u SLURM_PROCID -u SLURM_STEP_NUM_TASKS -u PMIX_RANK -u PMIX_NAMESPACE \
    "$train" --data "$dir/text" --layers 2 --hidden 128 --heads 4 --seq 64 --batch 8 --steps 20 --clip 1 "$@"
}

losses() {
  sed -n 's/^step \([0-9]*\) loss \([0-9.]*\) tokens.*/\1 \2/p' "$1"
}

# is_near A B LIMIT: 20 losses each, and no two further apart than LIMIT, relatively.
is_near() {
  # shellcheck disable=SC2016  # awk's own
  paste <(losses "$1") <(losses "$2") | awk -v limit="$3" '
    { d = ($2 - $4) / $4; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
    END { print "furthest apart: " worst " over " n " steps"; exit !(n == 20 && worst <= limit) }'
}

run >"$dir/gpu.float32" 2>"$dir/err"
if ! grep -q 'nccl backend' "$dir/gpu.float32"; then
  t_skip "train on a GPU" "the nccl backend is not usable here: $(DTRAIN_LOG=info run --steps 1 2>&1 | grep -m 1 'backend nccl tried')"
  t_done
  exit
fi
while read -r type limit; do
  run --type "$type" >"$dir/gpu.$type" 2>"$dir/err" || cat "$dir/err"
  CUDA_VISIBLE_DEVICES='' run --type "$type" >"$dir/cpu.$type"
  t_holds "$type: the other run is the CPU's" "$(head -n 1 "$dir/cpu.$type")" "host backend"
  t_ok "$type: the GPU's losses are the CPU's" is_near "$dir/gpu.$type" "$dir/cpu.$type" "$limit"
  printf '# %s\n' "$(is_near "$dir/gpu.$type" "$dir/cpu.$type" "$limit")" "$(tail -n 1 "$dir/gpu.$type")"
done <<'END'
float64 1e-8
float32 1e-4
bfloat16 1e-2
END
run --steps 10 --save "$dir/half" >/dev/null
run --resume "$dir/half" >"$dir/resumed"
t_is "a resumed run has the losses of the whole one" "$(losses "$dir/resumed")" "$(losses "$dir/gpu.float32" | tail -n 10)"
t_done
