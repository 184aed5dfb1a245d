#!/bin/bash
# The NCCL backend on a real cluster, over doubles of libnccl and libcudart that enforce NCCL's rules: programs
# do what they do on the host backend, make no more communicators than they need, and name who failed in what.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

built=$DT_BUILDDIR/tests/fake/nccl
double=$DT_PROGRAMS/nccl-double # the libraries and, since a program looks beside itself, the programs
work=$DT_PROGRAMS/nccl-test
[ -e "$built/libnccl.so.2" ] || t_skip_all "built without NCCL"

stage_doubles() {
  rm -rf "$double" "$work"
  mkdir -p "$double" "$work"
  chmod 1777 "$work"
  cp -a "$LD_LIBRARY_PATH"/libdtrain.so* "$built/libnccl.so.2" "$built/libcudart.so.13" \
    "$built/.libs/libdtrain_nccl.so" "$DT_PROGRAMS/hello" "$DT_PROGRAMS/sum" "$double"
  [ ! -x "$DT_PROGRAMS/train" ] || cp "$DT_PROGRAMS/train" "$DT_BUILDDIR/tests/unit/.libs/train_cuda.so" "$double"
}

t_ok "the doubles are staged" stage_doubles || { t_done; exit 1; }
export LD_LIBRARY_PATH=$double FAKE_NCCL_SUMMARY=1
hello=$double/hello sum=$double/sum train=$double/train
cd / # a folder that every node has

# ---- What the doubles say ------------------------------------------------------------------

# step FILE srun-and-program-arguments…: one step whose output goes to FILE and FILE.err; its status.
step() {
  local file=$work/$1
  shift
  lab_run timeout 120 srun "$@" >"$file" 2>"$file.err"
}

# said FILE N WORDS: N of the file's lines hold the words.
said() {
  t_same "$(grep -cF -- "$3" "$work/$1")" "$2" || { cat "$work/$1"; return 1; }
}

# values FILE NAME: of each rank's summary in FILE.err.
values() {
  sed -n "s/^fake nccl: rank [0-9]*: ids=.*/ &/; s/^ .* $2=\([0-9]*\).*/\1/p" "$work/$1.err"
}

# ended_well FILE RANKS: all ranks ended as NCCL asks for, and left nothing.
ended_well() {
  local rc=0
  t_same "$(values "$1" live | wc -l) summaries" "$2 summaries" || rc=1
  grep -F "VIOLATION" "$work/$1.err" && rc=1
  for name in size1 splits shrinks aborts live violations; do
    t_same "$name $(values "$1" $name | sort -u)" "$name 0" || rc=1
  done
  t_same "destroyed $(values "$1" destroys)" "destroyed $(values "$1" inits)" || rc=1
  t_same "finalized $(values "$1" finalizes)" "finalized $(values "$1" inits)" || rc=1
  return $rc
}

# ---- Programs ------------------------------------------------------------------------------

# Rows: tasks, communicators of each rank, ids of all ranks, srun's arguments.
worlds="1 0 0 -N1 -n1 --dtrain-tp=1
2 1 1 -N1 -n2 --dtrain-tp=2
4 2 4 -N2 --ntasks-per-node=2 --dtrain-tp=2
8 3 12 -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2
8 4 14 -N2 --ntasks-per-node=4 --dtrain-tp=2 --dtrain-ep=2
16 2 10 -N2 --ntasks-per-node=8 --dtrain-tp=8 --dtrain-pp=2"

programs() {
  local tasks comms ids args
  while read -r tasks comms ids args; do
    # shellcheck disable=SC2086  # $args is a list
    t_ok "hello: $args" step hello $args --dtrain-backend=nccl "$hello" </dev/null || cat "$work/hello.err"
    t_ok "on GPUs" said hello "$tasks" ", nccl):"
    t_is "$comms communicators a rank" "$(values hello inits | sort -u)" "$comms"
    t_is "$ids ids in all" "$(values hello ids | awk '{ n += $1 } END { print n + 0 }')" "$ids"
    t_ok "and all ends well" ended_well hello "$tasks"
  done <<<"$worlds"
  t_ok "sum" step sum -N2 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-backend=nccl "$sum"
  t_ok "adds up 0 and 2" said sum 2 "sum 2"
  t_ok "and 1 and 3" said sum 2 "sum 4"
  t_ok "and ends well" ended_well sum 4
}

# ---- Training ------------------------------------------------------------------------------

limit=1e-4 # of the relative difference of a step's loss

# Largest relative difference of the losses of $work/$2 to those of $work/$1, which must have the same $3 steps.
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

# Rows: tp pp dp nodes tasks-per-node.
layouts="1 1 1 1 1
2 1 1 1 2
4 1 1 1 4
1 2 1 2 1
1 4 1 4 1
1 1 2 2 1
1 1 4 2 2
2 2 2 4 2
8 2 1 2 8"

# What the host backend trains in one process, from a checkpoint of its own on.
training() {
  local tp pp dp nodes tasks name d
  t_ok "host: 5 steps to a checkpoint" step first -N1 -n1 "$train" --steps 5 --save "$work/checkpoint"
  t_ok "host: 10 more" step host -N1 -n1 --dtrain-tp=1 --dtrain-backend=host "$train" --steps 15 --resume "$work/checkpoint"
  printf '# tp x pp x dp  largest relative difference of a loss in 10 steps to the host backend\n'
  while read -r tp pp dp nodes tasks; do
    name=${tp}x${pp}x$dp
    t_ok "nccl: $name on -N$nodes" step "$name" -N "$nodes" --ntasks-per-node="$tasks" --dtrain-backend=nccl \
      --dtrain-tp="$tp" --dtrain-pp="$pp" --dtrain-dp="$dp" "$train" --steps 15 --resume "$work/checkpoint" \
      --save "$work/saved" </dev/null || cat "$work/$name.err"
    d=$(difference host "$name" 10)
    printf '# %-12s  %s\n' "$name" "$d"
    t_ok "$name has the host's losses" is_within_limit "$d"
    t_ok "$name ends well" ended_well "$name" $((tp * pp * dp))
  done <<<"$layouts"
  fails "revoked by rank 2 on n2: all_reduce #" "an all-reduce of a step fails later" \
    FAKE_NCCL_FAIL=ncclAllReduce:20:async-ncclSystemError@rank=2 "${four[@]}" "$train" --steps 3
  t_ok "host: on from where the last one ended" step back -N1 -n1 "$train" --steps 16 --resume "$work/saved"
}

# ---- Failures ------------------------------------------------------------------------------

four=(srun -N2 --ntasks-per-node=2 --kill-on-bad-exit=0 --dtrain-tp=2 --dtrain-backend=nccl)

# fails WORDS NAME variables-and-program…: all four ranks end, one says the WORDS, and NCCL's rules are kept.
fails() {
  local words=$1 name=$2
  shift 2
  lab_expect 1 "$words" "$name" env "$@"
  t_is "$name: all ranks end and say why" "$(grep -cE '^(hello: |train: rank )' <<<"$lab_out")" 4
  t_is "$name: no rule is broken, nothing is left" \
    "$(grep -cF VIOLATION <<<"$lab_out") $(grep -c ' live=0 violations=0$' <<<"$lab_out")" "0 4"
}

# What happens on rank 2, on n2, and what is said of it.
failures() {
  local init="ncclCommInitRankConfig on dtrain/dp/0: invalid argument"
  local waited='^hello: (ncclCommInitRankConfig|the first all-reduce) on dtrain/[td]p/[01]: .* 4 s.*, on rank [0-3] on n[12]$'
  fails "hello: $init (run with NCCL_DEBUG=WARN for details) (ncclCommInitRankConfig: fault on demand), on rank 2 on n2" \
    "a creation fails" FAKE_NCCL_FAIL=ncclCommInitRankConfig:1:ncclInvalidArgument@rank=2 "${four[@]}" "$hello"
  # Which rank's deadline passes first is chance: one that waits for it in the bring-up, or for one that does.
  fails " 4 s" "a rank never joins" DTRAIN_INIT_TIMEOUT=4 FAKE_NCCL_FAIL=ncclCommInitRankConfig:1:never@rank=2 "${four[@]}" "$hello"
  t_is "a rank never joins: all say what they waited for, and where" "$(grep -cE "$waited" <<<"$lab_out")" 4
  fails "rank 2 on n2 left: cudaMalloc of 1 byte: cudaErrorMemoryAllocation (out of memory)" \
    "no memory on one GPU" FAKE_NCCL_FAIL=cudaMalloc:1:cudaErrorMemoryAllocation@rank=2 "${four[@]}" "$hello"
  fails "revoked by rank 2 on n2: cudaMalloc of 4 bytes on device 0: cudaErrorMemoryAllocation (out of memory)" \
    "no memory for a buffer" FAKE_NCCL_FAIL=cudaMalloc:2:cudaErrorMemoryAllocation@rank=2 "${four[@]}" "$hello"
  fails "revoked by rank 2 on n2: all_reduce #1 on dtrain/dp/0: unhandled system error" \
    "an all-reduce fails later" FAKE_NCCL_FAIL=ncclAllReduce:4:async-ncclSystemError@rank=2 "${four[@]}" "$hello"
  fails "all_reduce #1 on dtrain/dp/0: it did not end within 3 s, seen by rank " \
    "an all-reduce hangs" DTRAIN_TIMEOUT=3 FAKE_NCCL_FAIL=ncclAllReduce:4:hang@rank=2 "${four[@]}" "$hello"
}

# ---- Mistakes ------------------------------------------------------------------------------

# refused WORDS NAME command…: before NCCL sees it, all four ranks say the WORDS.
refused() {
  local words=$1 name=$2
  shift 2
  lab_expect 1 "$words" "$name" "$@"
  t_is "$name: told to all" "$(grep -c '^hello: ' <<<"$lab_out")" 4
  t_is "$name: NCCL was not asked to connect" "$(grep -c ' inits=0 .* violations=0$' <<<"$lab_out")" 4
}

mistakes() {
  local none="local rank 1 has no GPU: 1 visible; use --gpus-per-node=N (not --gpus-per-task"
  # shellcheck disable=SC2016  # for the tasks' shell
  refused " have one device, 0000:10:00.0: each rank needs its own" "two ranks on one GPU" \
    "${four[@]}" bash -c '[ "$LOCAL_RANK" = 0 ] || export CUDA_VISIBLE_DEVICES=1,0; exec "$0"' "$hello"
  refused "on n1: $none" "fewer GPUs than ranks" env FAKE_CUDA_DEVICES=1 "${four[@]}" "$hello"
  refused "on n1: $none" "--gpus-per-task" "${four[@]}" --gpus-per-task=1 "$hello"
  # shellcheck disable=SC2016
  refused "rank 2 on n2 was given another configuration of communicators (DTRAIN_NCCL_CONFIG) than rank 0" \
    "one rank's own configuration" "${four[@]}" \
    bash -c '[ "$RANK" != 2 ] || export DTRAIN_NCCL_CONFIG=tp.max_ctas=4; exec "$0"' "$hello"
}

# ---- Configuration ---------------------------------------------------------------------------

# dtrain.conf holds for each axis what it says of it, DTRAIN_NCCL_CONFIG wins, and the rest is NCCL's.
configuration() {
  printf 'all.min_ctas = 2\ntp.max_ctas = 8\npp.net_name = Socket\n' >"$work/dtrain.conf"
  printf 'required %s conf=%s/dtrain.conf\n' "$DT_PLUGIN" "$work" >"$DT_PLUGSTACK"
  lab_expect 0 "nccl):" "a configuration for each axis" env DTRAIN_NCCL_CONFIG=tp.max_ctas=4,dp.cga_cluster_size=2 \
    srun -N4 --ntasks-per-node=2 --dtrain-tp=2 --dtrain-pp=2 --dtrain-backend=nccl "$hello"
  printf 'required %s\n' "$DT_PLUGIN" >"$DT_PLUGSTACK"
  t_is "tp: the environment over dtrain.conf" \
    "$(grep -c 'dtrain/tp/.* minCTAs=2 maxCTAs=4 cgaClusterSize=4 netName=$' <<<"$lab_out")" 8
  t_is "dp: of both" "$(grep -c 'dtrain/dp/.* minCTAs=2 maxCTAs=64 cgaClusterSize=2 netName=$' <<<"$lab_out")" 8
  t_is "pp: of dtrain.conf" "$(grep -c 'dtrain/pp/.* minCTAs=2 maxCTAs=64 cgaClusterSize=4 netName=Socket$' <<<"$lab_out")" 8
}

programs
failures
mistakes
configuration
if [ -x "$train" ] && [ -e "$double/train_cuda.so" ]; then
  training
else
  t_skip "examples/train" "built without BLAS or cuBLAS"
fi
t_ok "no node is drained or down" lab_nodes_are_well
t_done
