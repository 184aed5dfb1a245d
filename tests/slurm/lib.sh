# shellcheck shell=bash
# What the tests on the lab share. run.sh sets DT_SRCDIR, DT_BUILDDIR and DT_LAB (the lab's name), and what
# stage.sh exports.

: "${DT_SRCDIR:?run this test by tests/slurm/run.sh}" "${DT_LAB:?}" "${DT_STAGE:?}" "${DT_PROGRAMS:?}" "${DT_PLUGSTACK:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

# As the lab's unprivileged user, as a client of its cluster.
lab_run() {
  "$DT_SRCDIR/lab/lab" run --name "$DT_LAB" -- "$@"
}

# As root in the namespaces of a node: lab_node n1 CMD…
lab_node() {
  "$DT_SRCDIR/lab/lab" exec-node --name "$DT_LAB" "$1" -- "${@:2}"
}

# lab_expect STATUS WORDS NAME CMD…: runs CMD on the lab, compares its exit status and looks for the words
# in what it wrote, stdout and stderr together, which stays in $lab_out.
lab_expect() {
  local status=$1 words=$2 name=$3 got=0
  shift 3
  lab_out=$(lab_run timeout 100 "$@" 2>&1) || got=$?
  t_ok "$name" lab_matches "$got" "$status" "$words"
}

lab_matches() {
  local rc=0
  t_same "$1" "$2" || rc=1
  t_contains "$lab_out" "$3" || rc=1
  [ $rc = 0 ] || printf '%s\n' "$lab_out"
  return $rc
}

# No node is drained or down: what every test may end with.
lab_nodes_are_well() {
  local bad
  bad=$(lab_run sinfo -h -N -o '%N %T %E' | grep -vE ' (idle|mixed|allocated|completing)' || true)
  [ -z "$bad" ] || {
    printf '%s\n' "$bad"
    return 1
  }
}
