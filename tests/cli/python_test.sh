#!/bin/bash
# The Python package's own tests, against this build's library and command.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

python=/usr/bin/python3
library=$DT_BUILDDIR/.libs/libdtrain.so
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  t_skip "the Python package" "no python3 of 3.9 or newer at $python"
  t_done
  exit
fi
if nm -D "$library" 2>/dev/null | grep -q '__asan\|__ubsan\|__tsan'; then
  t_skip "the Python package" "python3 was not started with this build's sanitizer"
  t_done
  exit
fi

run() {
  PYTHONPATH=$DT_SRCDIR/python PYTHONDONTWRITEBYTECODE=1 DTRAIN=$DT_BUILDDIR/dtrain DTRAIN_LIBRARY=$library \
    timeout 120 "$python" -m unittest -v "$1" 2>&1
}

for file in "$DT_SRCDIR"/python/tests/test_*.py; do
  out=$(cd "${file%/*}" && run "$(basename "$file" .py)")
  # One line a test, "name (module.Class.name) ... ok"; a failed one shows the whole output.
  while read -r name result; do
    t_is "$name" "$result" ok
  done < <(sed -nE 's/^(test_[a-z_0-9]+) .* \.\.\. ([A-Za-z]+).*/\1 \2/p' <<<"$out")
  t_contains "$out" "OK" >/dev/null || printf '%s\n' "$out"
  t_ok "$(basename "$file") ends well" t_contains "$out" "
OK"
done

version() { sed -n 's/^version = "\(.*\)"/\1/p' "$DT_SRCDIR/python/pyproject.toml"; }
t_is "the package has the library's version" "$(version)" "$("$DT_BUILDDIR/dtrain" --version | awk '{ print $NF; exit }')"
t_done
