# shellcheck shell=bash
# TAP from bash: each test is a function, its output is shown only if it fails.

tap_count=0 tap_failed=0

tap_test() { # FUNCTION DESCRIPTION
  local output rc=0
  tap_count=$((tap_count + 1))
  output=$({ "$1"; } 2>&1) || rc=$?
  if ((rc == 0)); then
    printf 'ok %d - %s\n' "$tap_count" "$2"
    [[ -z ${TAP_TIMES:-} ]] || printf '# at %d s\n' "$SECONDS"
  else
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$2"
    printf '%s\n' "$output" | sed 's/^/# /'
  fi
}

tap_skip() { # DESCRIPTION REASON
  tap_count=$((tap_count + 1))
  printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

tap_skip_all() {
  printf '1..0 # SKIP %s\n' "$1"
  exit 0
}

tap_done() {
  printf '1..%d\n' "$tap_count"
  ((tap_failed == 0))
  exit
}

is() { # GOT WANTED
  [[ $1 = "$2" ]] || { printf "got '%s', wanted '%s'\n" "$1" "$2"; return 1; }
}
