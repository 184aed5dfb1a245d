#!/bin/bash
# dtrain schedule: what is shown and drawn of pipeline schedules, and what is refused.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

dtrain=$DT_BUILDDIR/dtrain
python=/usr/bin/python3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# says STATUS WORDS ARG…: `dtrain schedule ARG…` ends with STATUS, nothing on stdout, WORDS on stderr.
says() {
  local status=$1 words=$2 got
  shift 2
  timeout 20 "$dtrain" schedule "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  t_is "status $status: dtrain schedule $*" "$got, stdout: $(cat "$dir/out")" "$status, stdout: "
  t_holds "says '$words'" "$(cat "$dir/err")" "$words"
}

# The man page's examples are what is printed: each line "$ COMMAND" and what follows it.
examples() {
  local file=$DT_SRCDIR/man/dtrain-schedule.example line
  t_is "the examples of dtrain(1)" "$(sed -n 's/^\$ //p' "$file" | while read -r line; do
    printf '$ %s\n' "$line"
    PATH=$DT_BUILDDIR:$PATH bash -c "$line" 2>&1
  done)" "$(cat "$file")"
}

goldens() {
  t_is "gpipe, back in the other order" "$("$dtrain" schedule --kind gpipe-reverse --pp 2 --microbatches 4)" \
    "gpipe-reverse on 2 stages, 4 microbatches: 15 ms, bubble 20.0 %

from 0 ms, 0.2 ms a column
stage 0  F0---F1---F2---F3---...............B3--------B2--------B1--------B0--------
stage 1  .....F0---F1---F2---F3---B3--------B2--------B1--------B0--------..........

  stage  held  transfers  busy ms  idle ms
  0      4     8          12       3
  1      4     8          12       3"
  t_is "weights where the stage would be idle" "$("$dtrain" schedule --kind zb-h1 --pp 3 --microbatches 4)" \
    "zb-h1 on 3 stages, 4 microbatches: 14 ms, bubble 14.3 %

from 0 ms, 0.166667 ms a column
stage 0  F0----F1----F2----............B0----W0----F3----B1----W1----B2----W2----B3----W3----
stage 1  ......F0----F1----......B0----F2----B1----W0----F3----B2----W1----B3----W2----W3----
stage 2  ............F0----B0----F1----B1----F2----B2----W0----F3----B3----W1----W2----W3----

  stage  held  transfers  busy ms  idle ms
  0      3     8          12       2
  1      3     16         12       2
  2      3     8          12       2"
  t_holds "bands of a long one" "$("$dtrain" schedule --microbatches 24)" "from 29.3333 ms, 0.333333 ms a column"
  t_holds "what does not fit is said" "$("$dtrain" schedule --microbatches 500)" \
    "and so on until 1509 ms: --json has all"
  t_holds "a last group that is not full costs" "$("$dtrain" schedule --kind interleaved --microbatches 9)" \
    "9 microbatches are no multiple of 4 stages: turns of the last group stay empty; with 12"
  t_holds "other times" "$("$dtrain" schedule --forward-ms 1.5 --backward-ms 2 --weight-ms .5 2>&1)" "expected 1e-06"
  t_holds "transfers that take time" "$("$dtrain" schedule --kind gpipe --link-ms 0.25)" "34.5 ms, bubble 30.4 %"
  t_holds "one stage is never idle" "$("$dtrain" schedule --pp 1 --microbatches 1)" \
    "1f1b on 1 stage, 1 microbatch: 3 ms, bubble 0.0 %"
}

# All kinds in all forms: text fits, JSON and SVG are well formed and tell of every action.
forms() {
  local kind json
  for kind in 1f1b gpipe gpipe-reverse interleaved zb-h1 pipedream inference; do
    t_is "$kind fits 100 columns" \
      "$("$dtrain" schedule --kind $kind --pp 8 --microbatches 13 | grep -E '.{101}|[[:blank:]]$')" ""
    if [ ! -x "$python" ]; then
      t_skip "$kind: JSON and drawing" "no $python"
      continue
    fi
    "$dtrain" schedule --kind $kind --pp 3 --microbatches 5 --json >"$dir/json"
    json=$("$python" -c 'import json,sys
plan = json.load(sys.stdin)
actions = [a for s in plan["stages"] for a in s["actions"]]
forwards = sum(a["action"] == "forward" for a in actions)
sends = sum(a["action"].startswith("send") for a in actions)
receives = sum(a["action"].startswith("recv") for a in actions)
late = max(a["end_ms"] for a in actions)
print(forwards == 15 * plan["chunks"], sends == receives, late == plan["makespan_ms"])' <"$dir/json")
    t_is "$kind: JSON has every action" "$json" "True True True"
    "$dtrain" schedule --kind $kind --pp 3 --microbatches 5 --svg >"$dir/svg"
    t_ok "$kind: the drawing is XML" "$python" -c 'import sys, xml.dom.minidom as m; m.parse(sys.stdin)' <"$dir/svg"
    t_is "$kind: the drawing has every forward" "$(grep -c '<title>forward of microbatch' "$dir/svg")" \
      "$(grep -c '"action": "forward"' "$dir/json")"
  done
}

refusals() {
  says 1 "--pp: '0' is too small: expected a number from 1 to 64" --pp 0
  says 1 "--pp: '65' is too large" --pp 65
  says 1 "--microbatches: '0' is too small" --microbatches 0
  says 1 "--microbatches: 'x' is not a number" --microbatches x
  says 1 "1000000 microbatches: expected 1 to 16384" --pp 64 --microbatches 1000000
  says 1 "--kind" --kind 2f2b
  says 1 "zb-h1" --kind 2f2b
  says 1 "--chunks: '9' is too large: expected a number from 1 to 8" --kind interleaved --chunks 9
  says 1 "the schedule 1f1b has one chunk a stage, not 2: use interleaved" --chunks 2
  says 1 "--forward-ms=0 is no time: expected 1e-06 to 1000000 ms" --forward-ms 0
  says 1 "--weight-ms=1,5 is no time" --weight-ms 1,5
  says 1 "--link-ms=-1 is no time: expected 0" --link-ms -1
  says 2 "--json and --svg are two outputs: give one" --json --svg
  says 2 "'x' is not understood" x
  says 2 "unrecognized option '--tp'" --tp 2
  t_is "help of schedule is its --help" "$("$dtrain" help schedule)" "$("$dtrain" schedule -h)"
  t_is "no line of help is too long" "$("$dtrain" schedule -h | awk 'length > 96')" ""
  t_is "a full disk" "$("$dtrain" schedule 2>&1 >/dev/full)" \
    "dtrain: cannot write the output: No space left on device"
}

examples
goldens
forms
refusals
t_done
