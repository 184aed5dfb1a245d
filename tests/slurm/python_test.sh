#!/bin/bash
# The Python package on a real cluster: ranks and groups, and torch's process groups over gloo.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
work=$DT_PROGRAMS/python-test
mkdir -p "$work"
cp -r "$DT_SRCDIR/python/dtrain" "$DT_SRCDIR"/tests/slurm/torch_*.py "$work"
chmod -R a+rX "$work"
export PYTHONPATH=$work GLOO_SOCKET_IFNAME=eth0 # the lab's host is no name that gloo could look up
cd / || exit 1

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  t_skip "the Python package" "no python3 of 3.9 or newer at $python"
  t_done
  exit
fi

# shellcheck disable=SC2016
say='import dtrain; w = dtrain.World(); print("rank", w.rank, "of", w.size, "on", w.node_name(w.rank), "tp", *w.group("tp").members)'
lab_expect 0 "rank 3 of 4 on n2 tp 2 3" "ranks and groups in a step" \
  srun -N2 --ntasks-per-node=2 --dtrain-tp=2 "$python" -c "$say"
t_is "every rank once" "$(grep -c '^rank' <<<"$lab_out")" 4
lab_expect 0 "rank 0 of 1" "in a plain step of one task" srun -N1 -n1 "$python" -c "$say"
lab_expect 1 "was started without a --dtrain option" "a plain step of two tasks is refused" srun -N1 -n2 "$python" -c "$say"

if ! "$python" -c 'import torch' 2>/dev/null; then
  t_skip "torch's process groups" "no torch for $python (Debian: python3-torch)"
else
  lab_expect 0 "groups of 8 ranks sum right: tp dp pp etp edp dp-cp tp-pp; " "torch's groups, tp 2 pp 2 dp 2" \
    srun -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2 "$python" "$work/torch_groups.py"
  lab_expect 0 "groups of 8 ranks sum right: tp cp dp etp edp dp-cp tp-pp; " "torch's groups, tp 2 cp 2 dp 2, cyclic tasks" \
    srun -N2 --ntasks-per-node=4 -m cyclic --dtrain-tp=2 --dtrain-cp=2 "$python" "$work/torch_groups.py"
  lab_expect 0 "groups of 4 ranks sum right: dp ep edp dp-cp; " "torch's groups, ep 2" \
    srun -N2 --ntasks-per-node=2 --dtrain-ep=2 "$python" "$work/torch_groups.py"
  lab_expect 0 "4 ranks hold the same weights" "a script for torchrun runs unchanged" \
    srun -N2 --ntasks-per-node=2 --dtrain=on "$python" "$work/torch_ddp.py"
fi
t_done
