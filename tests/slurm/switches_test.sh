#!/bin/bash
# The order of the nodes follows the controller's switches: on a lab of its own, whose n1 and n3 are on one
# leaf, n2 and n4 on the other.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has
plain_lab=$DT_LAB
tree_lab=$DT_LAB-switches
conf=$(mktemp)
trap '"$DT_SRCDIR/lab/lab" down --name "$tree_lab" >/dev/null; rm -f "$conf"' EXIT
printf 'SwitchName=s1 Nodes=n[1,3]\nSwitchName=s2 Nodes=n[2,4]\nSwitchName=top Switches=s[1-2]\n' >"$conf"

t_ok "a lab with switches" "$DT_SRCDIR/lab/lab" up --name "$tree_lab" --nodes 4 --switches "$conf" \
  --bind "$DT_STAGE" --bind "$DT_PROGRAMS"
DT_LAB=$tree_lab
status=$("$DT_SRCDIR/lab/lab" status --name "$DT_LAB")
dir=$(sed -n 's/^dir: //p' <<<"$status")
plugstack=$(sed -n 's/^plugstack.conf: //p' <<<"$status")
cp "$DT_PLUGIN" "$dir/spank_dtrain.so"
printf 'required %s\n' "$dir/spank_dtrain.so" >"$plugstack"

# shellcheck disable=SC2016  # expanded in the task
who='echo "rank=$RANK node=$SLURMD_NODENAME group=$GROUP_RANK procid=$SLURM_PROCID pp=$DTRAIN_PP_RANK" \
  "master=$([ "$MASTER_ADDR" = "$(getent ahostsv4 n1 | awk "NR == 1 { print \$1 }")" ] && echo n1)"'

# ranks srun-arguments…: the lines of all tasks, by rank; what else was said is in $said.
ranks() {
  local out
  out=$(lab_run timeout 60 srun "$@" bash -c "$who" 2>&1)
  said=$(grep -v '^rank=' <<<"$out")
  lines=$(grep '^rank=' <<<"$out" | sort -V)
}

# of KEY: its values, by rank.
of() { grep -o "\b$1=[^ ]*" <<<"$lines" | cut -d= -f2 | xargs; }

ranks -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2
t_is "nodes of a leaf are neighbours in rank" "$(of node)" "n1 n1 n3 n3 n2 n2 n4 n4"
t_is "each task keeps Slurm's number" "$(of procid)" "0 1 4 5 2 3 6 7"
t_is "nodes are counted in the plan's order" "$(of group)" "0 0 1 1 2 2 3 3"
t_is "a stage is a leaf" "$(of pp)" "0 0 0 0 1 1 1 1"
t_is "MASTER_ADDR is rank 0's node" "$(of master | tr ' ' '\n' | sort -u)" "n1"
t_holds "it is said" "$said" "dtrain: the nodes are in the order of the cluster's switches: n[1,3,2,4]"
t_holds "once" "$(grep -c 'order of the cluster' <<<"$said")" 1

ranks -N4 --ntasks-per-node=2 -m cyclic --dtrain-tp=2
t_is "cyclic: the same nodes" "$(of node)" "n1 n1 n3 n3 n2 n2 n4 n4"
t_is "cyclic: Slurm's numbers" "$(of procid)" "0 4 2 6 1 5 3 7"

ranks -N3 -n3 -w 'n[2-4]' --dtrain=on
t_is "a part of the nodes" "$(of node)" "n2 n4 n3"
ranks -N2 -n2 -w 'n[1-2]' --dtrain=on
t_is "two nodes stay as they are" "$(of node) $(grep -c 'order of the cluster' <<<"$said")" "n1 n2 0"

lab_expect 0 "
  node  rank  SLURM_PROCID  tp   dp
  n1    0-1   0-1           0-1  0
  n3    2-3   4-5           0-1  1
  n2    4-5   2-3           0-1  2
  n4    6-7   6-7           0-1  3" "the report has the order" \
  srun -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-report true

lab_expect 0 "rank 4 of 8 on n2 (node 2 of 4, local rank 0 of 2, host)" "the library agrees with the plan" \
  srun -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-backend=host "$DT_PROGRAMS/hello"

printf 'node_order = slurm\n' >"$dir/home/dtrain.conf"
chmod 644 "$dir/home/dtrain.conf"
printf 'required %s conf=%s\n' "$dir/spank_dtrain.so" "$dir/home/dtrain.conf" >"$plugstack"
ranks -N4 -n4 --dtrain=on
t_is "node_order = slurm keeps Slurm's order" "$(of node)" "n1 n2 n3 n4"
t_is "and says nothing" "$said" ""
t_ok "no node is drained or down" lab_nodes_are_well

DT_LAB=$plain_lab
ranks -N4 -n4 --dtrain=on
t_is "without switches the order is Slurm's" "$(of node)" "n1 n2 n3 n4"
t_is "and nothing is said" "$said" ""
t_done
