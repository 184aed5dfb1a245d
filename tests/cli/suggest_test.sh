#!/bin/bash
# dtrain suggest: the tables and their words, JSON, what is refused, and what would fit.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

dtrain=$DT_BUILDDIR/dtrain
python=/usr/bin/python3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

step=(--seq 2048 --vocab 51200 --batch 512)
small=(--machine dgx-a100 --nodes 4 --params 7B "${step[@]}")
large=(--machine dgx-a100 --params 175B "${step[@]}")

# says STATUS WORDS ARG…: `dtrain suggest ARG…` ends with STATUS, nothing on stdout, WORDS on stderr.
says() {
  local status=$1 words=$2 got
  shift 2
  timeout 20 "$dtrain" suggest "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  t_is "status $status: dtrain suggest $*" "$got, stdout: $(cat "$dir/out")" "$status, stdout: "
  t_holds "says '$words'" "$(cat "$dir/err")" "$words"
}

fits() {
  "$dtrain" suggest "$@" >"$dir/all" || return 1
  grep -v ^srun "$dir/all" >"$dir/out"
  ! grep -nE '.{101}|[[:blank:]]$|\(null\)|nan|inf$' "$dir/out"
}

# first KEY ARG…: KEY of the first layout.
first() {
  local key=$1
  shift
  "$dtrain" suggest --json --top 1 "$@" 2>&1 | sed -n "s/^ .*\"$key\": \([^,}]*\).*/\1/p" | head -n 1
}

text() {
  local machine out
  for machine in dgx-a100 dgx-h100 mi250x mi300x p4d gh200 juwels-booster; do
    t_ok "$machine: text fits 100 columns" fits --machine "$machine" --nodes 8 --params 13B "${step[@]}"
  done
  t_ok "long sequences: text fits 100 columns" fits --machine dgx-h100 --nodes 16 --params 70B --gated \
    --kv-heads 8 --seq 65536 --vocab 128256 --batch 64
  out=$("$dtrain" suggest "${small[@]}" --tp 8 --pp 2 --zero 1 --recompute full)
  t_holds "the reason for tp" "$out" "tp 8 inside the node: its traffic is every layer's"
  t_holds "the link it takes" "$out" "NVSwitch gives 300 GB/s a GPU, the NICs 25.0 GB/s."
  t_holds "the reason for pp" "$out" "pp 2 across nodes"
  t_holds "the reason for dp" "$out" "dp 2 on the links that remain"
  t_holds "the reason for ZeRO" "$out" "ZeRO stage 1 splits the optimizer's state over 2 ranks"
  t_holds "the reason for recomputation" "$out" "Activations are made again (full): kept, the GPU would need"
  t_holds "the command" "$out" \
    "srun --nodes=4 --ntasks-per-node=8 --gpus-per-node=8 --dtrain-tp=8 --dtrain-pp=2 --dtrain-dp=2 ./train"
  out=$("$dtrain" suggest --params 7B "${step[@]}" --nodes 2 --gpu a100-80 --topology "$dir/node.xml" 2>&1)
  t_holds "a NIC's rate that is not known is said to be assumed" "$out" "(assumed: --nic-gbits says it)"
  t_is "as many rows as asked for" "$("$dtrain" suggest "${small[@]}" --top 2 | grep -c '^  [0-9]')" 6
}

# The srun options of the first layout are a plan that dtrain plan makes.
planned() {
  local line options
  line=$("$dtrain" suggest "${small[@]}" | sed -n 's/^srun //p')
  read -ra options <<<"${line% ./train}"
  t_ok "the command is a plan: $line" "$dtrain" plan "${options[@]}"
}

json() {
  if [ ! -x "$python" ]; then
    t_skip "JSON" "no $python"
    return
  fi
  "$dtrain" suggest "${small[@]}" --json --top 100 >"$dir/out"
  t_ok "JSON: sizes multiply to the GPUs, parts to totals, fastest first" "$python" -c '
import json, math, sys
found = json.load(open(sys.argv[1]))
layouts = found["layouts"]
assert 5 < len(layouts) == found["fitting"] <= found["tried"]
for x in layouts:
    assert x["tp"] * x["cp"] * x["pp"] * x["dp"] == 32
    assert x["memory"]["total"] <= found["machine"]["usable"]
    for parts in x["memory"], x["time"]:
        whole = sum(v for k, v in parts.items() if k not in ("total", "dp_hidden"))
        assert math.isclose(whole, parts["total"], rel_tol=1e-6)
    assert 0 < x["model_tflops"] <= x["hardware_tflops"] < found["machine"]["tflops"]
times = [x["time"]["total"] for x in layouts]
assert times == sorted(times)
' "$dir/out"
}

fixed() {
  t_is "tp stays as fixed" "$(first tp "${small[@]}" --tp 4)" 4
  t_is "pp stays as fixed" "$(first pp "${small[@]}" --pp 8)" 8
  t_is "dp stays as fixed" "$(first dp "${small[@]}" --dp 2)" 2
  t_is "cp goes past its usual bound" "$(first cp "${small[@]}" --cp 2)" 2
  t_is "the microbatch stays as fixed" "$(first microbatch "${small[@]}" --microbatch 2)" 2
  t_is "interleaving stays as fixed" "$(first interleave "${small[@]}" --pp 2 --interleave 4)" 4
  t_is "ZeRO stays as fixed" "$(first zero "${small[@]}" --zero 0)" 0
  t_is "sequence parallelism stays as fixed" "$(first sequence_parallel "${small[@]}" --tp 2 \
    --sequence-parallel off)" false
  t_is "recomputation stays as fixed" "$(first recompute "${small[@]}" --recompute full)" '"full"'
  t_is "pp within its bound" "$(first pp "${small[@]}" --max-pp 1)" 1
  t_is "tp within its bound" "$(first tp "${small[@]}" --max-tp 1)" 1
  t_is "1.3B is 1300M" "$("$dtrain" suggest --machine dgx-a100 --params 1.3B "${step[@]}")" \
    "$("$dtrain" suggest --machine dgx-a100 --params 1300M "${step[@]}")"
}

refusals() {
  says 1 "'nosuch'" --machine nosuch --params 7B "${step[@]}"
  says 1 "--heads=12 cannot be divided into --tp=8" --machine dgx-a100 --layers 12 --hidden 768 --heads 12 \
    "${step[@]}" --tp 8
  says 1 "--tp=16 does not divide the 8 GPUs of a node" "${small[@]}" --tp 16
  says 1 "expected --params=N, such as 7B, or all of --layers, --hidden and --heads" \
    --machine dgx-a100 "${step[@]}"
  says 1 "ranks: expected the 32 GPUs" "${small[@]}" --cp 16777216 --pp 16777216 --dp 16777216
  says 1 "--batch=64 cannot be divided into dp 32 x microbatch 1048576" "${small[@]}" --batch 64 --tp 1 --pp 1 \
    --microbatch 1048576
  says 1 "expected --seq, --vocab and --batch" --machine dgx-a100 --params 7B
  says 1 "name their kind with --gpu" --machine pcie8 --params 1B "${step[@]}"
  says 1 "use --precision=fp16" --machine dgx-1v --params 1B "${step[@]}"
  says 1 "--batch=510 cannot be divided into dp 32" "${small[@]}" --batch 510 --tp 1 --pp 1
  says 1 "--params=7X is not understood" --machine dgx-a100 --params 7X "${step[@]}"
  says 1 "--params=7BB is not understood" --machine dgx-a100 --params 7BB "${step[@]}"
  says 1 "--params=-1 is not understood" --machine dgx-a100 --params -1 "${step[@]}"
  says 1 "--params=0 is out of range" --machine dgx-a100 --params 0 "${step[@]}"
  says 1 "--memory=0 is no memory" "${small[@]}" --memory 0
  says 1 "--nodes" "${small[@]}" --nodes 0
  says 1 "--recompute" "${small[@]}" --recompute some
  says 1 "--zero" "${small[@]}" --zero 3
  says 2 "unrecognized option '--xp=2'" --xp=2
  says 2 "'./train' is not understood" "${small[@]}" ./train
  says 2 "--machine and --topology both say what the nodes are" "${small[@]}" --topology x
}

# What does not fit is said with what would; and that does.
unfit() {
  local nodes
  says 1 "no layout fits: the nearest, tp 8 x dp 1, needs" "${large[@]}" --nodes 1
  t_holds "by part" "$(cat "$dir/err")" "GB that a GPU can use (weights "
  t_holds "and what would" "$(cat "$dir/err")" ": use --nodes="
  nodes=$(sed -n 's/.*--nodes=\([0-9]*\).*/\1/p' "$dir/err")
  t_ok "which does fit" "$dtrain" suggest "${large[@]}" --nodes "${nodes:-1}"
  says 1 "without the sizes that were fixed tp " "${large[@]}" --nodes 16 --tp 1 --pp 1 --zero 0
  says 1 ": use GPUs with " --machine pcie8 --gpu a100-40 --params 70B "${step[@]}"
  nodes=$(sed -n 's/.*use GPUs with \([0-9]*\) GB.*/\1/p' "$dir/err")
  t_ok "whose memory is enough" "$dtrain" suggest --machine pcie8 --gpu a100-40 --params 70B "${step[@]}" \
    --memory "${nodes:-1}G"
}

# The man page's example is what is printed.
example() {
  local file=$DT_SRCDIR/man/dtrain-suggest.example line
  t_is "the example of dtrain-suggest(1)" "$(sed -n 's/^\$ //p' "$file" | while read -r line; do
    printf '$ %s\n' "$line"
    PATH=$DT_BUILDDIR:$PATH bash -c "$line" 2>&1
  done)" "$(cat "$file")"
}

usage() {
  t_is "help is --help" "$("$dtrain" help suggest)" "$("$dtrain" suggest --help)"
  t_is "no line of help is too long" "$("$dtrain" suggest -h | awk 'length > 96')" ""
  t_holds "the list of commands has it" "$("$dtrain" help)" "  suggest "
}

# A node of NCCL's XML: four GPUs at one switch, one NIC.
{
  echo '<system version="1"><cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6"'
  echo 'modelid="85"><pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">'
  for i in 2 3 4 5; do
    echo "<pci busid=\"0000:0$i:00.0\" class=\"0x030200\">"
    echo "<gpu dev=\"$((i - 2))\" sm=\"80\" rank=\"0\" gdr=\"1\"/></pci>"
  done
  echo '<pci busid="0000:06:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0" speed="200000" port="1"'
  echo 'guid="0x1" maxconn="1" gdr="1"/></nic></pci></pci></cpu></system>'
} >"$dir/node.xml"

text
planned
json
fixed
refusals
unfit
example
usage
t_done
