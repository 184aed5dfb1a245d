#!/bin/bash
# Runs every libFuzzer harness of a build for SECONDS and prints executions and CPU seconds:
#   configure CC=clang --enable-fuzzer --enable-sanitizer=address,undefined
#   make && .../tests/fuzz/long.sh SECONDS [BUILD_FOLDER]
# Inputs that break a promise stay in the folder that is printed.
set -euo pipefail

seconds=${1:?usage: long.sh SECONDS [BUILD_FOLDER]}
build=$(cd "${2:-.}" && pwd)
work=$(mktemp -d)
export TIMEFORMAT='cpu %U + %S'
status=0

for harness in "$build"/tests/fuzz/fuzz_*; do
    if [ ! -x "$harness" ] || [ -d "$harness" ]; then
        continue
    fi
    name=${harness##*/fuzz_}
    mkdir -p "$work/$name"
    export DT_FUZZ_SEEDS=$work/$name
    { time (cd "$work" && "$harness" -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 \
        -artifact_prefix="$work/$name-" "$work/$name" > "$work/$name.log" 2>&1) 2> "$work/$name.err"; } \
        2> "$work/$name.cpu" || { status=1; echo "$name: FAILED, see $work/$name.log"; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
    echo "$name: ${runs:-?} runs, $(tail -1 "$work/$name.cpu") s"
done
echo "logs, corpora and failing inputs: $work"
exit $status
