#!/bin/bash
# How fast examples/train is: train.sh BUILDDIR [RUNS]. Its tokens/s beside those of a plain C program of the
# same model, weights, data and BLAS, and of PyTorch (DistributedDataParallel over gloo), for two models, one
# thread a rank, on 1 rank and on 2 of one node of a lab of its own; in turn, medians, and the ratios to the
# peers. First all must have the same losses.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: train.sh BUILDDIR [RUNS]}" && pwd)
DT_LAB=train
runs=${2:-5}
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up --nodes 1
cp "$DT_SRCDIR/bench/torch_train.py" "$DT_PROGRAMS"
results=$(mktemp -d)

# program KIND RUN OPTION…: one run of a kind; RUN is of that run only.
program() {
  local kind=$1 run=$2
  shift 2
  case $kind in
  plain) stage_lab run -- srun -n1 "$DT_PROGRAMS/plain_train" "$@" ;;
  train) stage_lab run -- srun -n1 "$DT_PROGRAMS/train" "$@" ;;
  train_dp2) stage_lab run -- srun -n2 --dtrain-backend=host --dtrain-tp=1 "$DT_PROGRAMS/train" "$@" ;;
  train_tp2) stage_lab run -- srun -n2 --dtrain-backend=host --dtrain-tp=2 "$DT_PROGRAMS/train" "$@" ;;
  torch) torch 1 "$run" "$@" ;;
  torch_dp2) torch 2 "$run" "$@" ;;
  esac
}

torch() {
  local ranks=$1 run=$2
  shift 2
  stage_lab run -- srun "-n$ranks" /usr/bin/env OMP_NUM_THREADS=1 /usr/bin/python3 \
    "$DT_PROGRAMS/torch_train.py" --rendezvous "/tmp/rendezvous.$run" "$@"
}

# time_kind MODEL KIND RUN OPTION…
time_kind() {
  program "${@:2}" | sed -n 's|^.*[ :]\([0-9]*\) tokens/s$|\1|p' | tail -n 1 >>"$results/$1.$2"
}

median() { sort -n "$results/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# compare MODEL KIND PEER: prints a line.
compare() {
  awk -v name="$2 / $3" -v a="$(median "$1.$2")" -v b="$(median "$1.$3")" \
    'BEGIN { printf "%-24s %8d / %8d  %5.2f\n", name, a, b, a / b }'
}

check_losses() {
  local kind
  for kind in "${kinds[@]}"; do
    program "$kind" "check.$kind" --steps 20 |
      sed -n 's/^step \([0-9]*\) loss \([0-9.]*\).*/\1 \2/p' >"$results/$kind.losses"
    paste "$results/train.losses" "$results/$kind.losses" | awk -v kind="$kind" '
      { d = $2 - $4; d = d < 0 ? -d : d; if (d > worst) worst = d }
      END {
        printf "%-12s differs by %.6f at most over %d steps\n", kind, worst, NR
        exit NR != 20 || worst > 0.001
      }'
  done
}

bench() {
  local model=$1 kind i
  shift
  for ((i = 0; i < runs; i++)); do
    for kind in "${kinds[@]}"; do
      time_kind "$model" "$kind" "$model.$kind.$i" "$@"
    done
  done
  printf '%s, median of %d runs, tokens/s and their ratio\n' "$*" "$runs"
  compare "$model" train plain
  compare "$model" train torch
  compare "$model" train_dp2 torch_dp2
  compare "$model" train_tp2 torch_dp2
}

kinds=(train plain torch train_dp2 train_tp2 torch_dp2)
check_losses
bench small --steps 20
bench large --hidden 256 --seq 128 --batch 8 --steps 2
rm -r "$results"
