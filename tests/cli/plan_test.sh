#!/bin/bash
# dtrain plan: the groups of other programs, who is where, what is refused, and what is written where.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

dtrain=$DT_BUILDDIR/dtrain
records=$DT_SRCDIR/../shared/groups/groups.jsonl
python=/usr/bin/python3

# plan_is NAME EXPECTED ARG…: what `dtrain plan ARG…` prints.
plan_is() {
  local name=$1 expected=$2
  shift 2
  t_is "$name" "$("$dtrain" plan "$@" 2>&1)" "$expected"
}

# says STATUS WORDS ARG…: `dtrain ARG…` ends with STATUS, nothing on stdout, WORDS on stderr.
says() {
  local status=$1 words=$2 text got
  shift 2
  text=$("$dtrain" "$@" 2>&1 >/dev/null)
  got=$?
  t_is "status $status: dtrain $*" "$got, stdout: $("$dtrain" "$@" 2>/dev/null)" "$status, stdout: "
  t_holds "says '$words'" "$text" "$words"
}

groups_of_others() {
  local verdict rest
  if [ ! -r "$records" ]; then
    t_skip "groups of Megatron-LM and DeepSpeed" "no ../shared/groups/groups.jsonl"
    return
  fi
  if [ ! -x "$python" ]; then
    t_skip "groups of Megatron-LM and DeepSpeed" "no $python"
    return
  fi
  while read -r verdict rest; do
    case $verdict in
      skip) t_skip "${rest% # *}" "${rest##* # }" ;;
      *) t_is "groups of ${rest% # *}" "$verdict ${rest#"${rest% # *}"}" "ok " ;;
    esac
  done < <("$python" "$DT_SRCDIR/tests/cli/plan_groups.py" "$dtrain" "$records" ||
    echo "not plan_groups.py # failed")
}

tables() {
  plan_is "the main job" "\
16 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)
  tp  8      inside a node (2 groups)
  pp  2      across 2 nodes (8 groups)

  node  rank  tp   pp
  n1    0-7   0-7  0
  n2    8-15  0-7  1" --nodes 'n[1-2]' --tasks-per-node 8 --dtrain-tp=8 --dtrain-pp 2
  plan_is "made-up nodes are said to be so" "\
4 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)
  tp  2      inside a node (2 groups)
  dp  2      across 2 nodes (2 groups)

  node   rank  tp   dp
  node0  0-1   0-1  0
  node1  2-3   0-1  1

No nodes were named: node0 and so on stand for any." -N2 -n4 --tp 2
  plan_is "one rank: groups of one are left out" "\
rank 9 of 16
  node      n2, 1 of 2
  local     1 of 8
  task      3 in SLURM_PROCID
  tp        1 of 2 in group 4 of 8: ranks 8,9
  dp        4 of 8 in group 1 of 2: ranks 1,3,5,7,9,11,13,15
  tp-dp     9 of 16 in group 0 of 1: ranks 0,1,2,3,4,5,...,15" \
    -w 'n[1-2]' --tasks-per-node 8 --tp 2 -m plane=2 --rank 9
  plan_is "one rank: the groups that were asked for" "\
rank 1 of 4
  node      node0, 0 of 1
  local     1 of 4
  task      1 in SLURM_PROCID
  cp        0 of 1 in group 1 of 4: ranks 1
experts
  ep        1 of 2 in group 0 of 2: ranks 0,1" --world 4 --ep 2 --rank 1 --groups cp --expert-groups ep
}

# Who is where, as SLURM_DTRAIN_PLAN says it: the part between span= and addr=.
wire_holds() {
  local words=$1
  shift
  t_holds "dtrain plan $*" "$("$dtrain" plan "$@" --wire 2>&1)" "$words"
}

layouts() {
  wire_holds 'nodes=n[1-4];tasks=8(x4);procids=0+32:1;' --nodes 'n[1-4]' --ntasks-per-node 8
  wire_holds 'nodes=n[1-4];tasks=8(x4);procids=0+32:1;' -w 'n[1-4]' -n 32 -m block:cyclic
  wire_holds 'nodes=node[0-3];tasks=2(x3),1;' --tasks-per-node '2(x3),1'
  wire_holds 'nodes=node[0-3];tasks=3(x2),2(x2);' -N 4 --ntasks 10
  wire_holds 'nodes=node[0-1];tasks=8(x2);' --world 16 --tasks-per-node 8
  wire_holds 'nodes=node0;tasks=16;' --world 16
  wire_holds 'nodes=node[0-2];tasks=1(x3);' --nodes 3
  wire_holds 'procids=0+4:2/2:1;' -N 2 -n 8 --distribution=cyclic
  wire_holds 'tasks=3,1;procids=0+2:2,3,1;' --tasks-per-node 3,1 -m cyclic
  wire_holds 'procids=0+2:1/2:4,2+2:1/2:4;' -N 2 -n 8 -m plane=2
  wire_holds 'tp=2;cp=1;ep=2;dp=4;pp=2;etp=1;order=pp-tp-cp-ep-dp;span=any;backend=host;' \
    --world 16 --tp 2 --pp=2 --etp 1 --ep 2 --order PP-TP-CP-EP-DP --tp-span any --backend host
}

json() {
  local whole rank
  whole=$("$dtrain" plan --world 12 --tp 2 --pp 3 --json)
  rank=$("$dtrain" plan --world 12 --tp 2 --pp 3 --json --rank 7 --groups pp --expert-groups '')
  t_is "one rank's JSON is that of the whole plan" "$(sed -n '1s/,$//p' <<<"$rank")" \
    "$(sed -n 's/^ \(.*"rank": 7.*\)},$/\1/p' <<<"$whole")"
  t_holds "and has its groups" "$rank" \
    '"groups": {
 "pp": {"index": 3, "count": 4, "rank": 1, "size": 3, "members": [3, 7, 11]}},
"expert_groups": {}}'
  t_is "--dtrain-report=json is --json" \
    "$("$dtrain" plan --world 12 --tp 2 --pp 3 --dtrain-report=json)" "$whole"
  t_is "short names are the same options" \
    "$("$dtrain" plan --world 12 --dtrain-tp=2 --dtrain-pp 3 --json)" "$whole"
  t_is "usual groups" "$(sed -n 's/^ "\([a-z-]*\)": \[.*/\1/p' <<<"$whole" | tr '\n' ' ')" \
    "tp cp dp pp dp-cp tp-pp tp-cp tp-dp tp-dp-cp tp ep dp pp tp-ep tp-ep-pp "
  t_is "no groups" "$("$dtrain" plan -n1 --json --groups '' --expert-groups '' | tail -n 2)" '"groups": {},
"expert_groups": {}}'
  t_is "a million ranks" "$("$dtrain" plan --nodes 131072 --tasks-per-node 8 --tp 8 --pp 16 --json \
    --groups tp --expert-groups '' | grep -c '"rank"')" 1048576
}

refusals() {
  says 1 "3 tasks on n2 cannot hold groups of tp=2: use --ntasks-per-node=4 or --dtrain-tp=1" \
    plan --nodes 'n[1-3]' --tasks-per-node 2,3,3 --tp 2
  says 1 "16 tasks cannot be divided into data parallel replicas" plan --world 16 --tp 3
  says 1 "--dtrain-dp=3 disagrees: 16 tasks" plan --world 16 --tp 2 --dp 3
  says 1 "8 tasks on n1 are more than the 4 GPUs" plan -w n1 -n 8 --gpus-per-node 4
  says 1 "node n1 stands twice" plan -w n1,n1
  says 1 "--nodes: " plan --nodes 'n[1-'
  says 1 "--nodes" plan --nodes 0
  says 1 "--nodes" plan --nodes ''
  says 1 "--ntasks" plan --ntasks 0
  says 1 "--ntasks" plan -n -1
  says 1 "--ntasks" plan --world 99999999999999999999
  says 1 "--ntasks=70000 puts 70000 tasks on a node: expected at most 65535" plan --world 70000
  says 1 "--ntasks=3 is less than the 4 nodes: use --nodes=3, or --ntasks=4" plan -N 4 -n 3
  says 1 "--ntasks=9 does not fit 2 nodes of --ntasks-per-node=4: use --nodes=3, or --ntasks=8" \
    plan -N 2 -n 9 --ntasks-per-node 4
  says 1 "counts the tasks of 3 nodes, --nodes has 4" plan -N 4 --tasks-per-node '2(x3)'
  says 1 "says the tasks of each node already: leave --ntasks=6 out" plan --tasks-per-node '2(x3)' -n 6
  says 1 "--ntasks-per-node" plan --tasks-per-node '2(x0)'
  says 1 "--ntasks-per-node" plan --tasks-per-node 65536
  says 1 "are too many: expected at most 16777216" plan --nodes 1048576 --tasks-per-node 17
  says 1 "--distribution=zigzag is not known: expected block, cyclic or plane=SIZE" plan -n 4 -m zigzag
  says 1 "--distribution=plane" plan -n 4 -m plane=0
  says 1 "follows a file of hosts that only srun reads" plan -n 4 -m arbitrary
  says 1 "--rank=16 is not in a world of 16 ranks: expected 0 to 15" plan --world 16 --rank 16
  says 1 "groups: 'xp' in 'tp-xp' is no axis" plan -n 4 --json --groups dp,tp-xp
  says 1 "the dense grid has no axis ep" plan -n 4 --json --groups ep
  says 1 "the expert grid has no axis cp" plan -n 4 --json --expert-groups cp
  says 1 "--groups names 'tp' twice" plan -n 4 --json --groups tp,dp,tp
  says 1 "is no axis" plan -n 4 --json --groups tp,
  says 1 "--groups has 600 bytes" plan -n 4 --groups "$(printf '%0600d' 0)"
  says 1 "--dtrain-tp" plan -n 4 --tp 0
  says 1 "--dtrain-tp-span" plan -n 4 --tp-span rack
  says 1 "--dtrain=off asks for a step without a plan" plan -n 4 --dtrain=off
}

usage() {
  says 2 "unrecognized option '--dtrain-xp=2'" plan --dtrain-xp=2
  says 2 "option '--tp' requires an argument" plan --tp
  says 2 "option '--json' doesn't allow an argument" plan --json=yes
  says 2 "'./train' is not understood" plan -n 4 ./train
  says 2 "--wire prints one value" plan -n 4 --wire --json
  says 2 "'plot' is no command" plot
  says 2 "no command given"
  says 2 "'plot' is no command" help plot
  says 2 "one argument too many" help plan env
  says 2 "'-x' is not understood" env -x
  t_is "the version" "$("$dtrain" --version)" \
    "dtrain $(sed -n 's/^AC_INIT(\[dtrain\],\[\([^]]*\)\].*/\1/p' "$DT_SRCDIR/configure.ac")"
  t_holds "help names the commands" "$("$dtrain" help)" "  env        list the environment variables"
  t_is "help of a command is its --help" "$("$dtrain" help plan)" "$("$dtrain" plan --help)"
  t_is "--help is help" "$("$dtrain" --help)" "$("$dtrain" help)"
  t_is "no line of help is too long" \
    "$( ("$dtrain" help; "$dtrain" plan -h; "$dtrain" env) | awk 'length > 96')" ""
  t_holds "layout options are in the help" "$("$dtrain" plan -h)" "--dtrain-tp-span=node|any"
  t_holds "env names a task's variables" "$("$dtrain" env)" "  LOCAL_RANK  "
  t_holds "env names what the library reads" "$("$dtrain" env)" "  DTRAIN_INIT_TIMEOUT=120  "
}

# writes_fail NAME WORDS: status and stderr of what ran before, in $status and $text.
writes_fail() {
  t_is "$1: status 1" "$status" 1
  t_holds "$1: the reason" "$text" "cannot write the output: $2"
}

writing() {
  local text status
  text=$("$dtrain" plan -n 4 2>&1 >/dev/full)
  status=$?
  writes_fail "a full disk" "No space left on device"
  text=$("$dtrain" --version 2>&1 >&-)
  status=$?
  writes_fail "a closed stdout" "Bad file descriptor"
  text=$({ "$dtrain" plan --world 65535 --json 2>&1 >&3; exit "$?"; } 3> >(:))
  status=$?
  writes_fail "a pipe whose reader went away" "Broken pipe"
}

# The man page's examples are what is printed: each line "$ COMMAND" and what follows it.
examples() {
  local file=$DT_SRCDIR/man/dtrain.example line
  t_is "the examples of dtrain(1)" "$(sed -n 's/^\$ //p' "$file" | while read -r line; do
    printf '$ %s\n' "$line"
    PATH=$DT_BUILDDIR:$PATH bash -c "$line" 2>&1
  done)" "$(cat "$file")"
}

groups_of_others
examples
tables
layouts
json
refusals
usage
writing
t_done
