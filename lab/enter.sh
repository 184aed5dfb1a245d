# shellcheck shell=bash disable=SC2034,SC2154
# Enter a host of the lab: these functions end by exec, the command is then the caller's own process.

enter_login() {
  local pid
  local -a as
  [[ -n ${LAB_NODES:-} ]] || folder_load
  pid=$(host_pid login)
  [[ -n $pid ]] || die "lab '$opt_name' has lost its login host: '$LAB_HERE/lab down --name $opt_name', then up again"
  if ((opt_as_root)); then
    enter_set_environment root /root
    as=()
  else
    enter_set_environment "$LAB_USER" "$LAB_DIR/home"
    as=(setpriv --reuid "$LAB_UID" --regid "$LAB_GID" --clear-groups --inh-caps=-all --)
  fi
  # shellcheck disable=SC2016  # expanded inside
  exec nsenter --target "$pid" --mount --net --uts --ipc -- "${as[@]}" \
    bash -c 'cd -- "$1" 2>/dev/null || cd; shift; exec "$@"' "lab run" "$PWD" "$@"
}

# The caller's environment, or a minimal one, with what belongs to another cluster or user taken out.
enter_set_environment() {
  local name keep='^(PATH|TERM|LANG|LC_.*)$'
  while read -r name; do
    if [[ $name =~ ^(SLURM|SLURMD|SRUN|SBATCH|SALLOC|SQUEUE|SINFO|SCANCEL|PMIX|PMI|PRTE)_ ]]; then
      unset "$name"
    elif ((opt_env_clean)) && [[ ! $name =~ $keep ]]; then
      export -n "${name?}"
    fi
  done < <(compgen -e)
  unset BASH_ENV XDG_RUNTIME_DIR MAIL OLDPWD
  export HOME=$2 USER=$1 LOGNAME=$1 SHELL=/bin/bash TMPDIR=/tmp SLURM_CONF=$LAB_DIR/etc/slurm.conf
}

# All namespaces of the node. Its process namespace makes nsenter stay as the parent: the command gets SIGTERM when it dies.
enter_node() {
  local pid
  folder_load
  ((${1#n} <= LAB_NODES)) || die_usage "node '$1' is not in lab '$opt_name': expected n1 to n$LAB_NODES"
  pid=$(host_pid "$1")
  [[ -n $pid ]] || die "node '$1' of lab '$opt_name' is dead: '$LAB_HERE/lab down --name $opt_name', then up again"
  opt_env_clean=0 enter_set_environment root /root
  shift
  # shellcheck disable=SC2016
  exec nsenter --target "$pid" --mount --net --uts --ipc --pid --cgroup -- setpriv --pdeathsig TERM -- \
    bash -c 'cd -- "$1" 2>/dev/null || cd /; shift; exec "$@"' "lab exec-node" "$PWD" "$@"
}
