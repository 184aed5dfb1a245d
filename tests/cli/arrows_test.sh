#!/bin/bash
# The rooms of the design: who may include whom, what each library exports, and what it links.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"
cd "$DT_SRCDIR" || exit 1

# The room that a quoted include of a file leads to.
room_of() {
  local from=$1 name=$2 dir
  dir=$(dirname "$from")
  while [ "$dir" != . ] && [ ! -e "$dir/$name" ]; do dir=$(dirname "$dir"); done
  if [ "$dir" != . ]; then
    dir=$dir/$(dirname "$name")
  elif [ -e "include/$name" ]; then
    dir=include
  else
    dir=$(dirname "$name")
  fi
  printf '%s' "${dir%%/*}"
}

# room_check ROOM ALLOWED-ROOMS FORBIDDEN-SYSTEM-HEADERS [EXCEPT-FILE…]
room_check() {
  local room=$1 allowed=" $2 " forbidden=$3 file name rc=0
  shift 3
  while read -r file; do
    while read -r name; do
      case $allowed in *" $(room_of "$file" "$name") "*) ;; *)
        printf '%s includes "%s"\n' "$file" "$name"
        rc=1
        ;;
      esac
    done < <(sed -n 's/^#include "\(.*\)"/\1/p' "$file")
    case " $* " in *" $file "*) continue ;; esac
    if grep -nE "^#include <($forbidden)" "$file"; then
      printf '%s includes what only others may\n' "$file"
      rc=1
    fi
  done < <(find "$room" -name '*.[ch]' -o -name '*.cu')
  return $rc
}

t_ok "include/ uses nothing of ours" room_check include include 'slurm|pmix|hwloc|nccl|cuda' include/dtrain_nccl.h
t_ok "core/ uses libc only" room_check core 'core include' 'slurm|pmix|hwloc|nccl|cuda|stdio_ext'
t_ok "topo/ uses core" room_check topo 'topo core include' 'slurm|pmix|nccl|cuda'
t_ok "plugin/ uses core and topo, never PMIx, NCCL or CUDA" room_check plugin 'plugin topo core include' 'pmix|nccl|cuda'
t_ok "runtime/ uses core, PMIx in its one file, NCCL and CUDA in their module's" room_check runtime 'runtime core include' \
  'slurm|hwloc|pmix|nccl|cuda' runtime/boot_pmix.c runtime/nccl_*.[ch] runtime/nccl_*.cu
t_ok "examples/ use the public headers" room_check examples 'examples include' 'slurm|pmix|hwloc|nccl' \
  examples/nccl/allreduce.h

only_tools_import() {
  ! grep -nE '^#include "(topo/)?import/' core/*.[ch] plugin/*.[ch] runtime/*.[ch] topo/*.[ch]
}
t_ok "only tools read topologies of other tools" only_tools_import

# exports LIBRARY PATTERN: every defined dynamic symbol matches.
exports() {
  local bad
  bad=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | grep -vxE "$2" || true)
  [ -z "$bad" ] || {
    printf 'exported: %s\n' "$bad"
    return 1
  }
}

# links LIBRARY PATTERN: every library it needs matches.
links() {
  local bad
  bad=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE "$2" || true)
  [ -z "$bad" ] || {
    printf 'needs: %s\n' "$bad"
    return 1
  }
}

hardened() {
  readelf -d "$1" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || { echo "no BIND_NOW"; return 1; }
  readelf -lW "$1" | grep -q GNU_RELRO || { echo "no RELRO"; return 1; }
  readelf -lW "$1" | awk '/GNU_STACK/ && /E / { exit 1 }' || { echo "executable stack"; return 1; }
}

# library NAME FILE EXPORTS NEEDS
library() {
  local name=$1 file=$DT_BUILDDIR/.libs/$2
  if [ ! -e "$file" ]; then
    t_skip "$name" "this build has none"
  elif ! command -v readelf nm >/dev/null; then
    t_skip "$name" "readelf and nm are not installed (Debian: binutils)"
  else
    t_ok "$name exports only what it promises" exports "$file" "$3"
    if nm -D "$file" | grep -q '__asan\|__ubsan\|__tsan'; then
      t_skip "$name links" "a sanitizer's libraries come with this build"
    else
      t_ok "$name links only what it may" links "$file" "$4"
    fi
    t_ok "$name is hardened" hardened "$file"
  fi
}

libc='libc\.so\.6|libm\.so\.6|ld-linux.*'
library "the plugin" spank_dtrain.so 'slurm_spank_[a-z_]+|plugin_(name|type|version)|spank_plugin_version' "$libc|libhwloc\.so\..*"
library "libdtrain" libdtrain.so 'dtrain_[a-z_]+' "$libc|libpmix\.so\..*"
library "the NCCL module" libdtrain_nccl.so 'dt_backend_nccl' "$libc|libcudart\.so\..*"
t_done
