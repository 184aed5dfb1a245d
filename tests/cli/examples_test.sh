#!/bin/bash
# The small examples in one process: each shows its steps, finds the values of one process, and says what it refuses.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

# One task outside Slurm, whatever step this test itself may run in.
run() {
  env -u SLURM_DTRAIN_PLAN -u SLURM_PROCID -u SLURM_STEP_NUM_TASKS -u PMIX_RANK -u PMIX_NAMESPACE \
    timeout 100 "$DT_BUILDDIR/examples/$1" "${@:2}"
}

# example PROGRAM "the last line": ends with 0 and that line; its output stays in $out.
example() {
  local status=0
  out=$(run "$1" 2>&1) || status=$?
  t_is "$1 ends with 0" "$status" 0
  t_is "$1 finds the values of one process" "$(tail -n 1 <<<"$out")" "$2"
}

# shows WORDS…: each is in $out.
shows() {
  local words
  for words in "$@"; do
    t_holds "shows '${words%%$'\n'*}'" "$out" "$words"
  done
}

# says STATUS WORDS PROGRAM ARG…: ends with STATUS, one line on stderr that has the WORDS.
says() {
  local status=$1 words=$2 text got=0
  shift 2
  text=$(run "$@" 2>&1 >/dev/null) || got=$?
  t_is "status $status: $*" "$got, $(wc -l <<<"$text") line" "$status, 1 line"
  t_holds "says '$words'" "$text" "$words"
}

example data_parallel "data_parallel: ok: 40 values are those of one process"
shows "2 ranks, threads of one process; as tasks: srun -n2 --dtrain-dp=2" "X [4, 4]: rank 0's | rank 1's" \
  "     0.12763  0.15013  |  0.12763  0.15013"

example column_parallel "column_parallel: ok: 272 values are those of one process"
shows "2 ranks, threads of one process; as tasks: srun -n2 --dtrain-tp=2" "own columns of W [4, 2]: rank 0's | rank 1's" \
  "dX, the sum [8, 4]: rank 0's | rank 1's"

example pipeline "pipeline: ok: 102 values are those of one process"
shows "2 ranks, threads of one process; as tasks: srun -n2 --dtrain-pp=2" \
  "   t1   t2   t3   t4   t5   t6   t7   t8   t9  t10
   rank 0   F1   F2   F3   F4             B4   B3   B2   B1
   rank 1        F1   F2   F3   F4   B4   B3   B2   B1
" "the same by the clock: milliseconds from the first begin"

example local_devices "local_devices: ok: 3 steps on 4 devices in both ways"
for n in 1 2 7; do
  s=s
  [ $n = 1 ] && s=
  out=$(run local_devices $n 2>&1)
  shows "local_devices: ok: 3 steps on $n device$s in both ways"
done

says 2 "usage: local_devices [devices, 1 to 64 [host|nccl]]" local_devices 0
says 2 "usage: local_devices [devices, 1 to 64 [host|nccl]]" local_devices 65
says 2 "usage: local_devices [devices, 1 to 64 [host|nccl]]" local_devices two
says 1 "backend 'none' is not known: expected auto, nccl or host" local_devices 2 none

for program in data_parallel column_parallel pipeline; do
  t_is "$program: standard output that is full is a failure" "$(run $program 2>&1 >/dev/full; echo $?)" \
    "$program: rank 0: cannot write to standard output
1"
done
t_is "local_devices, too" "$(run local_devices 2>&1 >/dev/full; echo $?)" "local_devices: cannot write to standard output
1"
t_done
