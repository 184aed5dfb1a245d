#!/bin/bash
# dtrain topo, and dtrain plan on machines: what is shown and drawn of every node at hand, saved, refused.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

dtrain=$DT_BUILDDIR/dtrain
shared=$DT_SRCDIR/../shared
python=/usr/bin/python3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# says STATUS WORDS ARG…: `dtrain ARG…` ends with STATUS, nothing on stdout, WORDS on stderr.
says() {
  local status=$1 words=$2 got
  shift 2
  timeout 20 "$dtrain" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  t_is "status $status: dtrain ${*//$dir\//}" "$got, stdout: $(cat "$dir/out")" "$status, stdout: "
  t_holds "says '$words'" "$(cat "$dir/err")" "$words"
}

# check HOW ARG… -- DTRAIN-ARG…: topo_check.py finds nothing wrong with what dtrain prints.
check() {
  local how=()
  while [ "$1" != -- ]; do
    how+=("$1")
    shift
  done
  shift
  "$dtrain" "$@" >"$dir/out" || return 1
  "$python" "$DT_SRCDIR/tests/cli/topo_check.py" "${how[@]}" <"$dir/out" >"$dir/wrong" || return 1
  head -n 5 "$dir/wrong"
  [ ! -s "$dir/wrong" ]
}

fits() {
  "$dtrain" "$@" >"$dir/out" && ! grep -nE '.{101}|[[:blank:]]$|\(null\)' "$dir/out"
}

# node NAME ARG…: all forms of one node, with two tasks a group where there are as many GPUs.
node() {
  local name=$1 tasks
  shift
  t_ok "$name: text fits 100 columns" fits topo "$@" || return
  tasks=$("$dtrain" topo "$@" --json | grep -c '^ {"index"')
  [ "$tasks" -gt 0 ] || tasks=4
  t_ok "$name: tasks fit 100 columns" fits topo "$@" --tasks "$tasks"
  if [ ! -x "$python" ]; then
    t_skip "$name: JSON and drawing" "no $python"
    return
  fi
  t_ok "$name: JSON" check json -- topo "$@" --tasks "$tasks" --json
  t_ok "$name: drawing" check svg -- topo "$@" --svg
  t_ok "$name: drawing with tasks" check svg -- topo "$@" --tasks "$tasks" --tp $((tasks % 2 ? 1 : 2)) --svg
  t_ok "$name: drawing without GPUs for all" check svg -- topo "$@" --tasks $((tasks + 2)) --svg
}

machines() {
  local name
  for name in $("$dtrain" topo --machine list | sed -n '/^Machines/,/^$/s/^  \([^ ]*\) .*/\1/p'); do
    node "$name" --machine "$name"
  done
}

files() {
  local file name
  if [ ! -d "$shared/topologies" ]; then
    t_skip "published topologies" "no ../shared/topologies"
    return
  fi
  for file in "$shared"/topologies/*.xml "$shared"/links/*.txt "$shared"/nccl-topo/*.xml; do
    name=${file##*/}
    node "$name" --file "$file"
    case $file in "$shared"/topologies/*) ;; *) continue ;; esac
    [ ! -x "$python" ] || t_ok "$name: PCI ids, NUMA nodes and CPUs" \
      check golden "$shared/topologies/gpu_locality.tsv" "$name" -- topo --file "$file" --json
  done
}

# The man page's examples are what is printed: each line "$ COMMAND" and what follows it.
examples() {
  local file=$DT_SRCDIR/man/dtrain-topo.example line
  t_is "the examples of dtrain(1)" "$(sed -n 's/^\$ //p' "$file" | while read -r line; do
    printf '$ %s\n' "$line"
    PATH=$DT_BUILDDIR:$PATH bash -c "$line" 2>&1
  done)" "$(cat "$file")"
}

placement() {
  local text json
  text=$("$dtrain" plan --machine pcie8-bridged -w 'n[1-2]' --tasks-per-node 8 --tp 2 \
    --bytes-tp 1Gi --bytes-dp 1000)
  t_holds "bridged pairs are the groups" "$text" "  1     1     0         5    44-50,108-114  1"
  t_holds "nodes that are alike are shown once" "$text" "n1, and with their own ranks all of n[1-2]"
  t_holds "tp's bytes go over the bridges" "$text" "tp    2     17.2 GB       -     -              -"
  t_holds "dp's do not" "$text" "dp    8     -             -     21.0 kB        7.00 kB"
  text=$("$dtrain" plan --machine perlmutter --tasks-per-node '4,2(x2)' --tp 2)
  t_holds "other nodes are shown apart" "$text" "node1, and with their own ranks all of node[1-2]"
  t_holds "sends are counted without bytes" "$text" "Sends of ranks to the next of a ring"
  printf 'SwitchName=%s\n' 'a Nodes=n[1-2]' 'b Nodes=n[3-4]' 'top Switches=a,b' >"$dir/switches"
  t_holds "what goes above the leaves" "$("$dtrain" plan --machine perlmutter -w 'n[1-4]' --tasks-per-node 4 \
    --tp 4 --bytes-dp 1G --switches "$dir/switches")" "24.0 GB  12.0 GB"
  json=$("$dtrain" plan --machine perlmutter -w 'n[1-2]' --tasks-per-node 4 --tp 4 --json)
  t_holds "JSON has the placement" "$json" '"placement": [
{"nodes": ["n1", "n2"], "first_ranks": [0, 4], "tasks": [
 {"task": 0, "rank": 0, "tp_group": 0, "gpu": 0, '
  t_holds "JSON has the cost" "$json" \
    '"tp": {"size": 4, "sends": {"link": 8, "pcie": 0, "host": 0, "unknown": 0, "nic": 0}'
  [ -x "$python" ] || return
  t_ok "JSON is valid" "$python" -m json.tool <<<"$json"
  t_ok "a plan's drawing" check svg -- plan --machine dgx-a100 -N 4 --tasks-per-node 8 --tp 4 --pp 2 --svg
  t_ok "a drawing of uneven nodes without enough GPUs" check svg -- \
    plan --machine perlmutter --tasks-per-node '9,4(x80)' --svg
}

# summary FILE: how many of what, without the file's name.
summary() {
  "$dtrain" topo "$@" | sed '1s/^[^:]*: //;q'
}

saving() {
  local here
  here=$(summary)
  (umask 077 && "$dtrain" topo --save "$dir/new/topology.xml" >"$dir/out" 2>&1)
  t_is "a topology is saved" "$?, $(sed '1s/:.*//;q' "$dir/out")" "0, $dir/new/topology.xml"
  t_is "whatever the umask, all can read it" "$(stat -c %a "$dir/new/topology.xml" 2>&1)" 644
  t_is "nothing else is left" "$(ls "$dir/new")" topology.xml
  t_is "it is this machine" "$(summary --file "$dir/new/topology.xml")" "$here"
  echo old >"$dir/new/topology.xml"
  "$dtrain" topo --save "$dir/new/topology.xml" >/dev/null 2>&1
  t_is "an old one is replaced" "$(summary --file "$dir/new/topology.xml")" "$here"
  if [ "$(id -u)" = 0 ]; then
    chmod 777 "$dir/new"
    t_holds "what the plugin will not read is said" "$("$dtrain" topo --save "$dir/new/topology.xml")" \
      "The plugin will not read it: "
    chmod 755 "$dir/new"
  fi
  says 1 "cannot make the folder" topo --save "$dir/no/such/topology.xml"
  says 1 "it is there and no regular file" topo --save "$dir/new"
  says 1 "it is there and no regular file" topo --save /dev/null
  says 1 "expected a file's name" topo --save "$dir/new/"
  ln -s /etc/passwd "$dir/link"
  says 1 "it is there and no regular file" topo --save "$dir/link"
}

bad_files() {
  mkfifo "$dir/fifo"
  : >"$dir/empty"
  echo 'GPU0 and nothing else' >"$dir/words"
  printf '<?xml version="1.0"?>\n<topology version="2.0">\n<object type="Machine"' >"$dir/truncated.xml"
  head -c 20000000 /dev/zero >"$dir/huge"
  says 1 "no-such" topo --file "$dir/no-such"
  says 1 "fifo" topo --file "$dir/fifo"
  says 1 "/dev/zero" topo --file /dev/zero
  says 1 "$dir" topo --file "$dir"
  says 1 "empty" topo --file "$dir/empty"
  says 1 "words" topo --file "$dir/words"
  says 1 "truncated.xml" topo --file "$dir/truncated.xml"
  says 1 "huge" topo --file "$dir/huge"
  says 1 "no-such" plan -n 4 --topology "$dir/no-such"
  says 1 "abacus" topo --machine abacus
  says 1 "abacus" plan -n 4 --machine abacus
  says 1 "abacus" topo --import abacus --file "$dir/words"
}

usage() {
  says 2 "leave --file and --import out" topo --machine dgx-a100 --file x
  says 2 "--json and --svg are two outputs" topo --json --svg
  says 2 "--save is about this machine" topo --save x --machine dgx-a100
  says 2 "leave --tasks and the layout out" topo --save x --tp 2
  says 2 "'x' is not understood" topo x
  says 2 "unrecognized option '--gpus'" topo --gpus
  says 1 "--tasks" topo --tasks 0
  says 1 "cannot be divided" topo --machine dgx-a100 --tp 3
  says 1 "has no GPUs: say how many tasks there are with --tasks" topo --file "$dir/cpus.xml" --tp 1
  says 2 "give one" plan -n 4 --machine dgx-a100 --topology x
  says 2 "say what they are with --machine or --topology" plan -n 4 --svg
  says 2 "say what they are with --machine or --topology" plan -n 4 --bytes-tp 1G
  says 2 "leave --wire and --rank out" plan -n 4 --machine dgx-a100 --rank 0
  says 2 "leave --json, --svg and --rank out" plan -n 4 --wire --machine dgx-a100 --svg
  says 2 "leave --json and --rank out" plan -n 4 --machine dgx-a100 --svg --json
  says 1 "--bytes-tp=1GB is not understood" plan -n 4 --machine dgx-a100 --bytes-tp 1GB
  says 1 "--bytes-dp" plan -n 4 --machine dgx-a100 --bytes-dp 99999999T
  says 1 "--bytes-pp=-1 is not understood" plan -n 4 --machine dgx-a100 --bytes-pp -1
  t_is "help of topo is its --help" "$("$dtrain" help topo)" "$("$dtrain" topo --help)"
  t_is "no line of help is too long" "$("$dtrain" topo -h | awk 'length > 96')" ""
  t_is "stdin is a file, too" "$("$dtrain" topo --import hwloc <"$dir/cpus.xml" | sed '1s/^[^:]*: //;q')" \
    "$(summary --file "$dir/cpus.xml")"
  t_is "a full disk" "$("$dtrain" topo --machine dgx-a100 2>&1 >/dev/full)" \
    "dtrain: cannot write the output: No space left on device"
}

# sets MASK: what each object says of its CPUs and memory.
sets() {
  printf 'cpuset="%s" complete_cpuset="%s" nodeset="0x1" complete_nodeset="0x1"' "$1" "$1"
}

# Two cores and no devices.
cat >"$dir/cpus.xml" <<XML
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" $(sets 0x3) allowed_cpuset="0x3" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" $(sets 0x3) gp_index="4"/>
    <object type="Core" os_index="0" $(sets 0x1) gp_index="2">
      <object type="PU" os_index="0" $(sets 0x1) gp_index="3"/>
    </object>
    <object type="Core" os_index="1" $(sets 0x2) gp_index="5">
      <object type="PU" os_index="1" $(sets 0x2) gp_index="6"/>
    </object>
  </object>
</topology>
XML

examples
machines
files
placement
saving
bad_files
usage
t_done
