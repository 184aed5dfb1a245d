#!/bin/bash
# How much of the gradients' way is hidden behind the backward pass: overlap.sh BUILDDIR. One rank on each of
# two nodes of a lab of its own, whose links are limited to one rate after the other.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: overlap.sh BUILDDIR}" && pwd)
DT_LAB=overlap
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up --nodes 2

for rate in 2gbit 1gbit 500mbit; do
  for node in n1 n2; do
    stage_lab exec-node "$node" -- tc qdisc replace dev eth0 root tbf rate "$rate" burst 1mb latency 400ms
  done
  for bucket in 4 25; do
    printf '# link of %s\n' "$rate"
    stage_lab run -- srun -N2 --ntasks-per-node=1 --dtrain-backend=host --dtrain-tp=1 \
      "$DT_PROGRAMS/overlap" "$bucket"
  done
done
