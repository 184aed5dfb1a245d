#!/bin/bash
# Runs every libFuzzer harness of a build for SECONDS and prints executions and CPU seconds:
#   configure CC=clang --enable-fuzzer --enable-sanitizer=address,undefined
#   make && .../tests/fuzz/long.sh SECONDS [BUILD_FOLDER]
# Inputs that break a promise stay in the folder that is printed.
set -euo pipefail

seconds=${1:?usage: long.sh SECONDS [BUILD_FOLDER]}
build=$(cd "${2:-.}" && pwd)
work=$(mktemp -d)
status=0

# User and system seconds between two outputs of `times`, whose second line is the children's.
cpu_seconds()
{
    awk 'FNR == 2 {
        split($1 "m" $2, t, /[ms]+/)
        sum = (t[1] + t[3]) * 60 + t[2] + t[4] - sum
    } END { print sum }' "$work/before" "$work/after"
}

for harness in "$build"/tests/fuzz/fuzz_*; do
    if [ ! -f "$harness" ] || [ ! -x "$harness" ]; then
        continue
    fi
    name=${harness##*/fuzz_}
    mkdir -p "$work/$name"
    times > "$work/before"
    if ! DT_FUZZ_SEEDS=$work/$name "$harness" -max_total_time="$seconds" -max_len=4096 \
        -print_final_stats=1 -artifact_prefix="$work/$name-" "$work/$name" > "$work/$name.log" 2>&1; then
        echo "$name: FAILED, see $work/$name.log"
        status=1
    fi
    times > "$work/after"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
    echo "$name: ${runs:-unknown} runs, $(cpu_seconds) CPU seconds"
done
echo "logs, corpora and failing inputs: $work"
exit $status
