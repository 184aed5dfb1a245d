#!/bin/bash
# The small examples on a real cluster: each in the layout that it is about, within a node and over nodes, ends with the
# values of one process; in another layout it says which one it needs.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has

# shows WORDS…: each is in $lab_out.
shows() {
  local words
  for words in "$@"; do
    t_holds "shows '${words%%$'\n'*}'" "$lab_out" "$words"
  done
}

# ends STATUS WORDS NAME srun-arguments…: as lab_expect of a step.
ends() { lab_expect "$1" "$2" "$3" srun "${@:4}" </dev/null; }

# Rows: program, its axis, what its last line says.
lessons="data_parallel dp 40 values are those of one process
column_parallel tp 272 values are those of one process
pipeline pp 102 values are those of one process"

# The span is for tp over nodes; it changes nothing for the others.
two=(-N2 -n2 --ntasks-per-node=1 --dtrain-tp-span=any)

while read -r program axis words; do
  path=$DT_PROGRAMS/$program
  ends 0 "$program: ok: $words" "$program on one node" -N1 -n2 "--dtrain-$axis=2" "$path"
  shows "$program: 2 ranks, tasks of a step"
  ends 0 "$program: ok: $words" "$program on two nodes" "${two[@]}" "--dtrain-$axis=2" "$path"
  ends 0 "$program: ok: $words" "$program in a step of one task makes two threads" -N1 -n1 "$path"
  ends 1 "$program: this step has 4 ranks, $axis=4, on the host backend; this program needs 2 ranks, $axis=2, on the \
host backend: srun -n2 --dtrain-$axis=2 --dtrain-backend=host" "$program refuses 4 ranks" -N1 -n4 "--dtrain-$axis=4" "$path"
  t_is "and tells it once" "$(grep -c "^$program: " <<<"$lab_out")" 1
done <<<"$lessons"

ends 1 "column_parallel: this step has 2 ranks, tp=1" "another axis is refused" -N1 -n2 --dtrain-dp=2 \
  "$DT_PROGRAMS/column_parallel"

ends 0 "pipeline: ok" "the pipeline's timeline, over nodes" "${two[@]}" --dtrain-pp=2 "$DT_PROGRAMS/pipeline"
shows "   rank 0   F1   F2   F3   F4             B4   B3   B2   B1
   rank 1        F1   F2   F3   F4   B4   B3   B2   B1"

for tasks in 2 4 6; do
  ends 0 "local_devices: ok: 3 steps on $tasks devices in both ways" "DDP by $tasks tasks is DataParallel in one" \
    -N2 -n$tasks --ntasks-per-node=$((tasks / 2)) --dtrain-dp=$tasks "$DT_PROGRAMS/local_devices"
  shows "1. DDP: a rank a device, $tasks tasks of this step" "2. DataParallel: one thread drives $tasks devices"
done
ends 1 "local_devices: this step has 4 ranks, dp=2; this program needs as many ranks as dp" "tp is refused" \
  -N1 -n4 --dtrain-tp=2 "$DT_PROGRAMS/local_devices"

t_ok "no node is drained or down" lab_nodes_are_well
t_done
