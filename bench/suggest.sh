#!/bin/bash
# dtrain suggest beside published runs: suggest.sh BUILDDIR. For each run the predicted TFLOP/s a GPU, the
# ratio to the published, and the place of the published tp and pp among all layouts that fit; then the
# geometric mean of the ratios and the worst.
#
# The runs are table 1 of Narayanan et al. 2021 (Megatron-LM, Selene: DGX A100 80 GB), written down as
# remembered, not copied from the paper: check them against it before these ratios are quoted. All have
# sequence 2048, vocabulary 51200, mixed precision, full recomputation, no ZeRO, no sequence parallelism, no
# flash attention.
#
# The runs are taken to leave microbatch and interleave open: they are what the model ranks first for the run's
# tp and pp. MATRIX_SHARE and LINK_SHARE of tools/suggest_time.c are calibrated on these same ten runs, one
# value for all, so the ratios show how well the formulas follow the runs, not how well they foretell others.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: suggest.sh BUILDDIR}" && pwd)

if [ ! -x "$DT_BUILDDIR/dtrain" ]; then
  echo "suggest.sh: $DT_BUILDDIR has no dtrain: build it there" >&2
  exit 2
fi
exec python3 "$DT_SRCDIR/bench/suggest.py" "$DT_BUILDDIR/dtrain"
