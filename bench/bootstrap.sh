#!/bin/bash
# The exchange before the first communicator, at sizes that no lab has: bootstrap.sh BUILDDIR [MOST-RANKS]. One
# process runs the library's own functions for every rank (bench/simulation.h).
#   puts, gets, inits   calls a rank: cards published, cards fetched (mean and most), communicators made
#   card, all, read     bytes of a card (mean), of all cards (MB, what the fence moves), of a rank's gets (most)
#   readers, a root     ranks that fetch one card, ranks that one root of a communicator takes in (most)
#   table               all addresses, which each rank gets over control's tree once all came
#   new_group           calls a rank that Megatron-LM makes for the same layout (bench/simulation.h)
set -euo pipefail

cd "${1:?usage: bootstrap.sh BUILDDIR [MOST-RANKS]}"
exec bench/bootstrap "${@:2}"
