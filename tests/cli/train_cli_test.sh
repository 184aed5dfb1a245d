#!/bin/bash
# examples/train in one process: what it says, what it refuses and with which status, and its checkpoints.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

train=$DT_BUILDDIR/examples/train/train
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
small="--layers=1 --hidden=16 --heads=2 --seq=16 --batch=4 --microbatches=2 --lr=0.01"

# A text of its own, so that the test needs none of the machine's.
for i in $(seq 200); do printf 'The %s. line of a text to learn from. ' "$i"; done >"$dir/text"

# The CPU's, also where a GPU is.
export CUDA_VISIBLE_DEVICES=

# A size that no machine has is an error of ours, not the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1

# One task outside Slurm, whatever step this test itself may run in.
run() {
  # shellcheck disable=SC2086  # $small is a list
  env -u SLURM_DTRAIN_PLAN -u SLURM_PROCID -u SLURM_STEP_NUM_TASKS -u PMIX_RANK -u PMIX_NAMESPACE \
    "$train" $small --data "$dir/text" "$@"
}

# says STATUS WORDS ARG…: ends with STATUS, one line on stderr that has the WORDS.
says() {
  local status=$1 words=$2 text got=0
  shift 2
  text=$(run "$@" 2>&1 >/dev/null) || got=$?
  t_is "status $status: train $*" "$got, $(printf '%s\n' "$text" | wc -l) line" "$status, 1 line"
  t_holds "says '$words'" "$text" "$words"
}

losses() {
  sed -n 's/^step \([0-9]*\) loss \([0-9.]*\) tokens.*/\1 \2/p'
}

t_holds "--help lists the options" "$("$train" --help)" "--microbatches=N"
t_holds "and the exit status" "$("$train" --help)" "Exit status: 0, 1 after a failure, 2 for a wrong option."
t_holds "--version says it" "$("$train" --version)" "train 0."

out=$(run --steps 30 2>&1)
t_holds "the first line has the layout" "$(printf '%s\n' "$out" | head -n 1)" "train: tp 1 x pp 1 x dp 1 on 1 node, host backend; "
t_is "then come 30 steps in the form promised" \
  "$(printf '%s\n' "$out" | grep -cE '^step [0-9]+ loss [0-9]+\.[0-9]{8} tokens/s [0-9]+$')" 30
t_holds "the last line sums up" "$(printf '%s\n' "$out" | tail -n 1)" "train: 30 steps in "
# shellcheck disable=SC2016  # awk's own
t_ok "the loss falls" awk 'NR == 1 { first = $2 } END { exit !($2 < first - 1) }' <(printf '%s\n' "$out" | losses)
t_is "the same command has the same losses" "$(run --steps 5 | losses)" "$(run --steps 5 | losses)"
t_ok "another seed has others" test "$(run --steps 1 | losses)" != "$(run --steps 1 --seed 2 | losses)"

says 2 "--layers=0: expected a whole number from 1" --layers=0
says 2 "--type=half: expected float32, float64 or bfloat16" --type=half
says 2 "--lr=fast: expected a number" --lr=fast
says 2 "--nothing: not an option of this program" --nothing
says 2 "text: this program takes options only" text
says 2 "--clip=1: with --ps no rank has the whole gradient" --ps 1 --clip 1
says 1 "--ps=1: no worker is left of 1 rank: use fewer servers, or more tasks" --ps 1
says 1 "cannot read --data $dir/none: No such file or directory" --data "$dir/none"
says 1 "--data $dir: expected a regular file" --data "$dir"
says 1 "--data $dir/text has $(stat -c %s "$dir/text") bytes, fewer than the 8001" --seq 8000
says 1 "--hidden 15 cannot be split over heads=2: use a multiple of 2" --hidden 15
says 1 "--batch 5 cannot be split over dp=1 and --microbatches 2: use a multiple of 2" --batch 5
t_holds "a model that fits nowhere is an error" "$(run --seq 1 --hidden 32768 --layers 32768 2>&1; echo "$?")" \
  "bytes for buffers
1"
says 1 "--save $dir: exists and is no regular file" --save "$dir"
says 1 "--save $dir/no/file: cannot write to its directory" --save "$dir/no/file"
says 1 "cannot read checkpoint $dir/none: No such file or directory" --resume "$dir/none"
says 1 "$dir/text is no checkpoint of this program" --resume "$dir/text"
t_is "standard output that is full is a failure" "$(run --steps 1 2>&1 >/dev/full; echo $?)" "train: cannot write to standard output
1"

run --steps 10 --clip 1 >"$dir/whole"
run --steps 5 --clip 1 --save "$dir/half" >/dev/null
run --steps 10 --clip 1 --resume "$dir/half" --save "$dir/end" >"$dir/resumed"
t_is "a resumed run goes on with the losses of the whole one" "$(losses <"$dir/resumed")" "$(losses <"$dir/whole" | tail -n 5)"
run --steps 10 --clip 1 --save "$dir/other" >/dev/null
t_ok "and ends with the same checkpoint" cmp "$dir/end" "$dir/other"
t_holds "a run that is over says so" "$(run --steps 5 --resume "$dir/half")" "no steps left to run"
says 1 "holds a model of --hidden 16, not of --hidden 32: use --hidden=16" --resume "$dir/half" --hidden 32
head -c 5000 "$dir/half" >"$dir/cut"
says 1 "checkpoint $dir/cut has 5000 bytes instead of the" --resume "$dir/cut"

run --type float64 --steps 10 >"$dir/whole64"
run --type float64 --steps 5 --save "$dir/half64" >/dev/null
t_is "a resumed float64 run goes on with every digit" \
  "$(run --type float64 --steps 10 --resume "$dir/half64" | losses)" "$(losses <"$dir/whole64" | tail -n 5)"
run --type bfloat16 --steps 10 >"$dir/whole16"
run --type bfloat16 --steps 5 --save "$dir/half16" >/dev/null
t_is "a resumed bfloat16 run goes on from its float32 weights" \
  "$(run --type bfloat16 --steps 10 --resume "$dir/half16" | losses)" "$(losses <"$dir/whole16" | tail -n 5)"
t_holds "a checkpoint of one type is read by a run of another" \
  "$(run --type bfloat16 --steps 6 --resume "$dir/half64")" "train: 1 steps in "

# Killed in the middle of the save after step 6: the one after step 5 stays.
cp "$dir/half" "$dir/last"
got=$( (ulimit -c 0 -f 20; run --steps 9 --clip 1 --resume "$dir/last" --save "$dir/last" --save-every 1) 2>&1; echo "$?")
t_holds "a save that is killed ends the run by the signal" "$got" "153"
t_ok "and leaves the last good checkpoint" cmp "$dir/last" "$dir/half"
got=$( (trap '' XFSZ; ulimit -f 20; run --steps 9 --clip 1 --resume "$dir/last" --save "$dir/last") 2>&1; echo "$?")
t_holds "a save that fails is an error" "$got" "cannot write checkpoint $dir/last: File too large; the file of that name is as it was
1"
t_ok "and leaves the last good checkpoint" cmp "$dir/last" "$dir/half"
t_ok "and nothing beside it" test ! -e "$dir/last.saving"

t_done
