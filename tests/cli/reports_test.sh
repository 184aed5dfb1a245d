#!/bin/bash
# Every report that the facts files name is replayed by a test: a row that carries its number.
set -u
: "${DT_SRCDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

shared=$DT_SRCDIR/../shared

# numbers FILE: the reports that it names, each once. "#864" behind another one is of the same repository.
numbers() {
  grep -oE '([A-Za-z][A-Za-z-]*)?#[0-9]+' "$1" |
    awk -F '#' '{ if ($1 != "") of = $1; print of "#" $2 }' | sort -u
}

is_replayed() {
  grep -rqE "(^|[^A-Za-z-])$1([^0-9]|\$)" "$DT_SRCDIR/tests"
}

for name in facts-nccl.md facts-parallel.md; do
  if [ ! -r "$shared/$name" ]; then
    t_skip "reports in $name" "no ../shared/$name"
    continue
  fi
  reports=$(numbers "$shared/$name")
  t_ok "$name names reports" test -n "$reports"
  for report in $reports; do
    t_ok "$report is replayed" is_replayed "$report"
  done
done

t_done
