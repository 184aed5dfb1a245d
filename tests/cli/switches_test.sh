#!/bin/bash
# dtrain plan --switches: the order of the nodes, what crosses which level, and files that are refused.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

dtrain=$DT_BUILDDIR/dtrain
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# plan ARG…: what `dtrain plan` writes.
plan() { "$dtrain" plan "$@" 2>&1; }

printf 'SwitchName=s1 Nodes=n[1,3]\nSwitchName=s2 Nodes=n[2,4]\nSwitchName=top Switches=s[1-2]\n' >tree.conf
printf 'BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2\n' >block.conf

t_is "nodes of a leaf are neighbours, and the crossings are few" \
  "$(plan --nodes 'n[1-4]' --ntasks-per-node 2 --tp 2 --pp 2 --switches tree.conf)" "\
8 ranks on 4 nodes, order tp-cp-ep-dp-pp (the first varies fastest)
  tp  2      inside a node (4 groups)
  dp  2      across 2 nodes (4 groups)
  pp  2      across 2 nodes (4 groups)

  node  rank  SLURM_PROCID  tp   dp  pp
  n1    0-1   0-1           0-1  0   0
  n3    2-3   4-5           0-1  1   0
  n2    4-5   2-3           0-1  0   1
  n4    6-7   6-7           0-1  1   1

Edges between neighbours, by the highest tier of switches that they cross
  axis   on a node    level 1    level 2
  tp             8          0          0
  dp             0          8          0
  pp             0          0          4"
t_is "blocks: no tier is above them; experts have their own rows" \
  "$(plan --nodes 'n[1-4]' --ntasks-per-node 2 --ep 2 --tp-span any --switches block.conf | sed -n '/^Edges/,$p')" "\
Edges between neighbours, by the highest tier of switches that they cross
  axis   on a node    level 1  no switch
  ep             8          0          0
  dp             4          2          2
  edp            0          4          4"
t_is "Slurm's numbers go with the nodes" \
  "$(plan --nodes 'n[1-4]' --ntasks-per-node 2,1,1,1 --switches tree.conf --wire | grep -o 'nodes=.*')" \
  "nodes=n[1,3,2,4];tasks=2,1(x3);procids=0+2:1,3,2+2:2;addr=;port=0"
t_is "cyclic ones, too" \
  "$(plan --nodes 'n[1-4]' -n 8 -m cyclic --switches tree.conf --wire | grep -o 'procids=[^;]*')" \
  "procids=0+2:4/2:2,1+2:4/2:2"
t_holds "JSON has the edges by level" \
  "$(plan --nodes 'n[1-4]' --pp 4 --switches tree.conf --json)" '"crossings": {
 "tp": [0, 0, 0, 0],
 "cp": [0, 0, 0, 0],
 "ep": [0, 0, 0, 0],
 "dp": [0, 0, 0, 0],
 "pp": [0, 2, 1, 0],
 "etp": [0, 0, 0, 0],
 "edp": [0, 0, 0, 0]}}'

# refused WORDS FILE ARG…: status 1, nothing on stdout, WORDS on stderr.
refused() {
  local words=$1 file=$2 text status
  shift 2
  text=$(timeout 10 "$dtrain" plan --switches "$file" "$@" 2>&1 >stdout)
  status=$?
  t_is "refused: $file" "$status, $(wc -c <stdout) bytes" "1, 0 bytes"
  t_holds "... with the reason" "$text" "$words"
}

printf '\nSwitchName=s1 Nodes=n[1-\n' >cut.conf
printf 'SwitchName=a Switches=b\nSwitchName=b Switches=a\n' >circle.conf
: >empty.conf
mkfifo fifo.conf
truncate -s 17M huge.conf
refused "dtrain plan: --switches: cut.conf:2: switch s1: hostlist 'n[1-'" cut.conf -w 'n[1-4]'
refused "circle.conf:2: switch b has a below it, which is above it, too" circle.conf -w 'n[1-4]'
refused "empty.conf:1: the file names no switch and no block" empty.conf -w 'n[1-4]'
refused "fifo.conf is no regular file" fifo.conf -w 'n[1-4]'
refused "/dev/zero is no regular file" /dev/zero -w 'n[1-4]'
refused "huge.conf:1: the file has 16777217 bytes: expected at most 16777216" huge.conf -w 'n[1-4]'
refused "no-such.conf cannot be opened: No such file" no-such.conf -w 'n[1-4]'
refused "tree.conf has none of the nodes, node0 among them: name nodes of the file" tree.conf -N 4
t_done
