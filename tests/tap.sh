# shellcheck shell=bash
# The Test Anything Protocol for shell tests. Source it, call t_*, end with t_done.

t_count=0
t_failures=0

# t_ok NAME CMD…: CMD must succeed. Its output is shown when it does not.
t_ok() {
  local name=$1 out
  shift
  t_count=$((t_count + 1))
  if out=$("$@" 2>&1); then
    printf 'ok %d - %s\n' "$t_count" "$name"
    return 0
  fi
  t_failures=$((t_failures + 1))
  printf 'not ok %d - %s\n' "$t_count" "$name"
  printf '# failed: %s\n' "$*"
  [ -z "$out" ] || printf '%s\n' "$out" | head -n 40 | sed 's/^/# /'
  return 1
}

# t_is NAME GOT EXPECTED
t_is() {
  t_ok "$1" t_same "$2" "$3"
}

t_same() {
  [ "$1" = "$2" ] && return 0
  printf 'got:      %s\nexpected: %s\n' "$1" "$2"
  return 1
}

# t_holds NAME TEXT WORDS: TEXT contains WORDS, literally.
t_holds() {
  t_ok "$1" t_contains "$2" "$3"
}

t_contains() {
  case $1 in *"$2"*) return 0 ;; esac
  printf 'expected the words: %s\nin: %s\n' "$2" "$1"
  return 1
}

# t_skip NAME WHY
t_skip() {
  t_count=$((t_count + 1))
  printf 'ok %d - %s # SKIP %s\n' "$t_count" "$1" "$2"
}

# All of the test is left out: prints why, ends the test.
t_skip_all() {
  printf '1..0 # SKIP %s\n' "$1"
  exit 0
}

t_done() {
  printf '1..%d\n' "$t_count"
  [ "$t_failures" = 0 ]
}
