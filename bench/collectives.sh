#!/bin/bash
# The time of all-reduce by size: collectives.sh BUILDDIR. Over 2 and 4 ranks of a node, 2 ranks on 2 nodes and
# 8 ranks on 4, on a lab of its own.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: collectives.sh BUILDDIR}" && pwd)
DT_LAB=collectives
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up

for layout in '1 2' '1 4' '2 1' '4 2'; do
  read -r nodes tasks <<<"$layout"
  stage_lab run -- srun "-N$nodes" "--ntasks-per-node=$tasks" --dtrain-backend=host --dtrain-tp-span=any \
    "--dtrain-tp=$((nodes * tasks))" "$DT_PROGRAMS/collectives" tp
done
