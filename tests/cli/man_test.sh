#!/bin/bash
# The man pages: mandoc has nothing to say against them, and they list what the program lists.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

# nothing CMD…: succeeds and prints nothing.
nothing() {
  local out
  out=$("$@" 2>&1) && [ -z "$out" ] && return 0
  printf '%s\n' "$out"
  return 1
}

lint() {
  local page
  if ! command -v mandoc >/dev/null; then
    t_skip "mandoc's opinion of the pages" "mandoc is not installed"
    return
  fi
  for page in "$DT_BUILDDIR"/man/*.[1-8]; do
    t_ok "mandoc on ${page##*/}" nothing mandoc -T lint "$page"
  done
}

# page_lists PAGE TITLE…: each is a title in the page's lists.
page_lists() {
  local page=$1 title
  shift
  for title in "$@"; do
    t_ok "$page has $title" grep -qF -- "\\fB${title//-/\\-}\\fR" "$DT_BUILDDIR/man/$page"
  done
}

lists() {
  local options variables suggest
  mapfile -t options < <(for command in plan schedule; do "$DT_BUILDDIR/dtrain" $command --help; done |
    sed -n 's/^ .*\(--[a-z-]*\).*/\1/p' | sort -u)
  mapfile -t variables < <("$DT_BUILDDIR/dtrain" env | sed -n 's/^  \([A-Z][A-Z_]*\).*/\1/p')
  mapfile -t suggest < <("$DT_BUILDDIR/dtrain" suggest --help | sed -n 's/^  ... \(--[a-z-]*\).*/\1/p')
  page_lists dtrain.1 "${options[@]}"
  page_lists dtrain-suggest.1 "${suggest[@]}"
  page_lists dtrain-env.7 "${variables[@]}"
}

t_is "mangen refuses a list that it does not know" \
  "$(echo '@LISTS@' | "$DT_BUILDDIR/tools/mangen" "$DT_SRCDIR" 2>&1)" "mangen: line '@LISTS@' names no list"
t_holds "mangen refuses a file that is not there" \
  "$(echo '@FILE no/such@' | "$DT_BUILDDIR/tools/mangen" "$DT_SRCDIR" 2>&1)" "no/such: No such file"
t_ok "libdtrain.3 shows examples/sum.c" \
  grep -qF 'rc = report(show(world, &err), &err);' "$DT_BUILDDIR/man/libdtrain.3"
lint
lists
t_done
