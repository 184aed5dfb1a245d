#!/bin/bash
# The bubble of pipeline schedules beside the formula's: bubble.sh BUILDDIR [MS]. Over 4 ranks of a node and over
# 4 nodes, on a lab of its own.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: bubble.sh BUILDDIR [MS]}" && pwd)
DT_LAB=bubble
# shellcheck source=tests/slurm/stage.sh
. "$DT_SRCDIR/tests/slurm/stage.sh"
stage_up

for layout in '1 4' '4 1'; do
  read -r nodes tasks <<<"$layout"
  stage_lab run -- srun "-N$nodes" "--ntasks-per-node=$tasks" --dtrain-backend=host "--dtrain-pp=4" \
    "$DT_PROGRAMS/bubble" "${2:-20}"
done
