# shellcheck shell=bash
# A lab with this build installed on it, for tests and benchmarks. Source it with DT_SRCDIR, DT_BUILDDIR and
# DT_LAB (the lab's name) set, call stage_up; the lab ends with the shell.

stage_lab() { "$DT_SRCDIR/lab/lab" "$1" --name "$DT_LAB" "${@:2}"; }

# shellcheck disable=SC2329  # called by the trap
stage_down() {
  local rc=$?
  stage_lab down >/dev/null || rc=1
  exit "$rc"
}

stage_make() {
  make -C "$DT_BUILDDIR" -s "$@" >>"$DT_BUILDDIR/stage.log" 2>&1 || {
    tail -n 20 "$DT_BUILDDIR/stage.log" >&2
    return 1
  }
}

# stage_up [lab option…]: exports DT_STAGE (root of what was installed), DT_PROGRAMS (examples and test
# programs), DT_PLUGIN (the plugin), DT_PLUGSTACK (the plugstack.conf, which requires it) and LD_LIBRARY_PATH.
stage_up() {
  local dir status
  trap stage_down EXIT
  stage_lab up "$@"
  status=$(stage_lab status)
  dir=$(sed -n 's/^dir: //p' <<<"$status")
  DT_PLUGSTACK=$(sed -n 's/^plugstack.conf: //p' <<<"$status")
  DT_STAGE=$dir/root
  DT_PROGRAMS=$dir/programs
  : >"$DT_BUILDDIR/stage.log"
  stage_make install "DESTDIR=$DT_STAGE"
  stage_make stage-programs "PROGRAMSDIR=$DT_PROGRAMS"
  # Modules of programs, which libtool installs nowhere but in their own folder.
  find "$DT_STAGE" -path '*/libexec/*/*.so' -exec cp {} "$DT_PROGRAMS" \;
  DT_PLUGIN=$(find "$DT_STAGE" -name spank_dtrain.so)
  LD_LIBRARY_PATH=$(dirname "$(find "$DT_STAGE" -name libdtrain.so)")
  export DT_STAGE DT_PROGRAMS DT_PLUGIN DT_PLUGSTACK LD_LIBRARY_PATH
  printf 'required %s\n' "$DT_PLUGIN" >"$DT_PLUGSTACK"
}
