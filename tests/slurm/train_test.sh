#!/bin/bash
# examples/train on a real cluster: every layout trains the model that one process trains, a checkpoint goes from
# one layout to another, and what cannot work is refused once, on all ranks.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

if [ ! -x "$DT_PROGRAMS/train" ]; then
  t_skip "examples/train" "not built: no BLAS"
  t_done
  exit
fi

cd / # a folder that every node has
train=$DT_PROGRAMS/train
work=$DT_PROGRAMS/train-test
limit=1e-4 # of the relative difference of a step's loss
rm -rf "$work"
mkdir -p "$work"
chmod 1777 "$work"

# step FILE srun-and-train-arguments…: one step whose output goes to FILE and FILE.err; its status.
step() {
  local file=$work/$1
  shift
  lab_run timeout 120 srun "$@" >"$file" 2>"$file.err"
}

# Largest relative difference of the losses of file $2 to those of file $1, which must have the same $3 steps.
difference() {
  awk -v steps="$3" '
    $1 != "step" { next }
    FNR == NR { loss[$2] = $4; next }
    { n++; d = ($4 - loss[$2]) / loss[$2]; d = d < 0 ? -d : d; if (!($2 in loss) || d != d) bad = 1; if (d > most) most = d }
    END { if (bad || n != steps) print "steps do not match: " n; else printf "%.1e\n", most }' "$work/$1" "$work/$2"
}

is_within_limit() {
  awk -v d="$1" -v limit="$limit" 'BEGIN { exit !(d ~ /^[0-9.]+e[-+][0-9]+$/ && d + 0 <= limit + 0) }' && return 0
  printf 'difference: %s, limit: %s\n' "$1" "$limit"
  return 1
}

# Rows: tp pp dp nodes tasks-per-node. What is over nodes and what within them differs on purpose.
layouts="2 1 1 1 2
4 1 1 1 4
1 2 1 2 1
1 4 1 4 1
1 1 2 2 1
1 1 4 2 2
2 2 2 4 2
8 2 1 2 8"

parity() {
  local tp pp dp nodes tasks name d
  t_ok "20 steps in one process" step single -N1 -n1 "$train" --steps 20
  printf '# tp x pp x dp  largest relative difference of a loss in 20 steps\n'
  while read -r tp pp dp nodes tasks; do
    name=${tp}x${pp}x$dp
    t_ok "$name on -N$nodes runs" step "$name" -N "$nodes" --ntasks-per-node="$tasks" \
      --dtrain-tp="$tp" --dtrain-pp="$pp" --dtrain-dp="$dp" "$train" --steps 20 </dev/null || cat "$work/$name.err"
    t_holds "$name is that layout" "$(head -n 1 "$work/$name")" "train: tp $tp x pp $pp x dp $dp on $nodes node"
    d=$(difference single "$name" 20)
    printf '# %-12s  %s\n' "$name" "$d"
    t_ok "$name has the losses of one process" is_within_limit "$d"
  done <<<"$layouts"
}

# same_as_single NAME STEPS "srun-arguments" train-arguments…: with these, the layout's losses are one process's.
same_as_single() {
  local name=$1 steps=$2 laid=$3
  shift 3
  step alone -N1 -n1 "$train" --steps "$steps" "$@" || cat "$work/alone.err"
  # shellcheck disable=SC2086  # $laid is a list
  step laid $laid "$train" --steps "$steps" "$@" || cat "$work/laid.err"
  t_ok "$name: the losses of one process" is_within_limit "$(difference alone laid "$steps")"
}

other_sizes() {
  same_as_single "a vocabulary that tp=3 does not divide" 5 "-N1 -n3 --dtrain-tp=3" --heads 6 --hidden 96
  same_as_single "one microbatch for four stages" 5 "-N4 -n4 --ntasks-per-node=1 --dtrain-pp=4" --microbatches 1
  same_as_single "clipped gradients under 2x2x2" 5 "-N4 -n8 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2" --clip 0.5
  same_as_single "several buckets of gradients under 1x2x2" 3 "-N2 -n4 --ntasks-per-node=2 --dtrain-pp=2" --hidden 256
  same_as_single "float64 under 2x2x2" 5 "-N4 -n8 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2" --type float64
  same_as_single "layers that pp=3 does not divide" 3 "-N3 -n3 --ntasks-per-node=1 --dtrain-pp=3" --batch 4
  same_as_single "tokens over cp=2" 5 "-N2 -n4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-cp=2"
  same_as_single "another order of the axes" 5 "-N1 -n8 --dtrain-tp=2 --dtrain-pp=2 --dtrain-order=pp-tp-cp-ep-dp"
}

# ways: each on a real cluster; tests/unit/train_ways_test.c has their combinations on many layouts.
ways() {
  local four="-N2 -n4 --ntasks-per-node=2"
  same_losses() {
    local name=$1 laid=$2
    shift 2
    # shellcheck disable=SC2086  # $laid is a list
    t_ok "$name runs" step laid $laid "$train" --steps 5 "$@" || cat "$work/laid.err"
    t_ok "$name: the losses of one process" is_within_limit "$(difference plain laid 5)"
  }
  step plain -N1 -n1 "$train" --steps 5
  same_losses "gpipe" "$four --dtrain-pp=2" --schedule gpipe
  same_losses "interleaved" "$four --dtrain-pp=2" --schedule interleaved --chunks 2
  same_losses "zb-h1" "$four --dtrain-pp=4" --schedule zb-h1
  same_losses "zero 1" "$four --dtrain-tp=1" --zero 1
  same_losses "zero 2 and sequence parallel" "$four --dtrain-tp=2" --zero 2 --sequence-parallel
  t_ok "pipedream runs" step laid -N2 --ntasks-per-node=2 --dtrain-pp=4 "$train" --steps 20 --schedule pipedream
  t_ok "pipedream learns" awk '/^step/ { last = $4 } END { exit !(last < 4.5) }' "$work/laid"
  same_losses "2 parameter servers and 4 workers" "-N2 -n6 --ntasks-per-node=3 --dtrain-tp=1" --ps 2
  t_holds "which one worker says" "$(head -n 1 "$work/laid")" "train: tp 1 x pp 1 x dp 4 and 2 parameter servers on 2 nodes"
}

checkpoints() {
  t_ok "a first half under 2x2x2" step half -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2 \
    "$train" --steps 10 --save "$work/checkpoint"
  t_ok "a second half under 4x1x2" step four -N2 --ntasks-per-node=4 --dtrain-tp=4 \
    "$train" --steps 20 --resume "$work/checkpoint"
  t_ok "its losses are those of one uninterrupted process" is_within_limit "$(difference single four 10)"
  t_ok "a second half under 1x4x1" step pipe -N2 --ntasks-per-node=2 --dtrain-pp=4 \
    "$train" --steps 20 --resume "$work/checkpoint"
  t_ok "its losses too" is_within_limit "$(difference single pipe 10)"
  t_ok "a second half in one process" step one -N1 -n1 "$train" --steps 20 --resume "$work/checkpoint"
  t_ok "its losses too" is_within_limit "$(difference single one 10)"
}

# Rank 0 is killed by the limit of a file's size while it saves.
interrupted_save() {
  cp "$work/checkpoint" "$work/before"
  lab_expect 153 "" "a rank is killed while it saves" srun -N2 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2 \
    bash -c "ulimit -c 0 -f 1000; exec $train --steps 11 --resume $work/checkpoint --save $work/checkpoint"
  t_ok "the last good checkpoint is still there" cmp "$work/before" "$work/checkpoint"
}

# refused STATUS WORDS srun-and-train-arguments…: the step ends with STATUS, one of its ranks says the WORDS, once.
refused() {
  local status=$1 words=$2
  shift 2
  lab_expect "$status" "$words" "refused: ${words:0:60}" srun "$@"
  t_is "and told once" "$(grep -c '^train: ' <<<"$lab_out")" 1
}

refusals() {
  local four="-N2 --ntasks-per-node=2"
  refused 1 "rank 0: --heads 6 cannot be split over tp=4: use a multiple of 4" -N1 -n4 --dtrain-tp=4 "$train" --heads 6
  # shellcheck disable=SC2086  # $four is two words
  {
    refused 1 "rank 0: --layers 3 cannot be split over pp=4 and --chunks 1: use 4 or more" $four --dtrain-pp=4 "$train" --layers 3
    refused 1 "rank 0: --batch 18 cannot be split over dp=4 and --microbatches 4: use a multiple of 16" $four \
      --dtrain-tp=1 "$train" --batch 18
    refused 1 "rank 0: --batch 16 cannot be split over workers=3 and --microbatches 4: use a multiple of 12" $four \
      --dtrain-tp=1 "$train" --ps 1
    refused 1 "--dtrain-ep=2: this program has no experts" $four --dtrain-ep=2 "$train"
    refused 2 "rank 0: --zero=2 reduces all gradients of a stage after each backward" $four --dtrain-pp=2 "$train" \
      --zero 2 --schedule zb-h1
    refused 1 "rank 0: cannot read --data /no/text: No such file or directory" $four --dtrain-tp=2 "$train" --data /no/text
    refused 1 "rank 0: cannot read checkpoint /no/file: No such file or directory" $four --dtrain-tp=2 \
      "$train" --resume /no/file
    refused 2 "rank 0: --steps=0: expected a whole number from 1" $four --dtrain-tp=2 "$train" --steps=0
  }
  head -c 100000 "$work/checkpoint" >"$work/cut"
  # shellcheck disable=SC2086
  refused 1 "rank 0: checkpoint $work/cut has 100000 bytes instead of the" $four --dtrain-pp=2 "$train" --resume "$work/cut"
}

parity
other_sizes
ways
checkpoints
interrupted_save
refusals
t_ok "no node is drained or down" lab_nodes_are_well
t_done
