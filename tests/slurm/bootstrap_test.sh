#!/bin/bash
# What a step's bring-up costs on a real cluster, counted by every rank: one Put, one Commit, one Fence, the card of
# its leader, and a communicator for each axis of more than one rank.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has
hello=$DT_PROGRAMS/hello

# counted RANKS GETS COMMS: so many ranks say these counts. Rank 0, whom the others ask, asks nobody.
counted() {
  t_same "$(grep -cE "; 1 put, 1 commit, 1 fence, $2 gets, $3 communicators" <<<"$lab_out")" "$1" ||
    { grep 'up in' <<<"$lab_out"; return 1; }
}

# bootstrap TASKS-A-NODE RANKS COMMS OPTION…: steps of 4 nodes.
bootstrap() {
  local tasks=$1 ranks=$2 comms=$3
  shift 3
  lab_expect 0 "of $ranks on n4" "$ranks ranks, $*" \
    env DTRAIN_LOG=debug srun -N4 --ntasks-per-node="$tasks" --kill-on-bad-exit=0 --dtrain-backend=host "$@" "$hello"
  t_ok "each comes up once" t_same "$(grep -c 'up in ' <<<"$lab_out")" "$ranks"
  # A rank whose fence was late looks for cards until they are there: its gets are as many as its tries.
  if grep -q 'connected without the fence' <<<"$lab_out"; then
    t_skip "the counts of $ranks ranks" "a fence was late"
    return
  fi
  t_ok "rank 0 fetches no card" counted 1 0 "$comms"
  t_ok "the others fetch their leader's" counted $((ranks - 1)) 1 "$comms"
}

bootstrap 4 16 3 --dtrain-tp=4 --dtrain-pp=2
bootstrap 4 16 1 --dtrain-tp=1
bootstrap 4 16 2 --dtrain-tp=4
bootstrap 16 64 3 --dtrain-tp=8 --dtrain-pp=2

t_ok "no node is drained or down" lab_nodes_are_well
t_done
