#!/bin/bash
# dtrain's binding beside what mpibind's published rules give: mpibind.sh BUILDDIR [FILE.xml...]. The files
# are hwloc's XML; without any, those of ../shared/topologies.
set -euo pipefail

DT_SRCDIR=$(cd "$(dirname "$0")/.." && pwd)
DT_BUILDDIR=$(cd "${1:?usage: mpibind.sh BUILDDIR [FILE.xml...]}" && pwd)
shift
shared=$DT_SRCDIR/../shared/topologies

if [ $# -eq 0 ] && [ -d "$shared" ]; then
  set -- "$shared"/*.xml
fi
if [ $# -eq 0 ]; then
  echo "mpibind.sh: no topology: $shared is not there; name hwloc XML files" >&2
  exit 2
fi
if [ ! -x "$DT_BUILDDIR/dtrain" ]; then
  echo "mpibind.sh: $DT_BUILDDIR has no dtrain: build it there" >&2
  exit 2
fi
exec python3 "$DT_SRCDIR/bench/mpibind.py" "$DT_BUILDDIR/dtrain" "$shared/gpu_locality.tsv" "$@"
