# shellcheck shell=bash disable=SC2034,SC2154
# What the lab says, and what it needs before it can do anything.

say() { printf 'lab: %s\n' "$*"; }

say_error() { printf 'lab: %s\n' "$*" >&2; }

die() {
  say_error "$*"
  exit 1
}

# A mistake on the command line: exit status 2.
die_usage() {
  say_error "$*"
  say_error "try '$0 help'"
  exit 2
}

say_help() {
  cat <<'END'
usage: lab up [options]            start a cluster; returns once a job ran on all nodes
       lab run [options] -- CMD…   run CMD as a client of the cluster, as its unprivileged user
       lab exec-node nK -- CMD…    run CMD as root inside node K
       lab status                  folder, files, addresses and daemons
       lab logs                    the logs' paths and last lines
       lab down                    end it and leave nothing behind
       lab help

of every command:
  --name NAME          which lab (default: main); several can be up at once
  --dir DIR            its folder (default: /run/dtrain-lab-NAME)
of up:
  --nodes N            nodes n1..nN (default: 4, at most 64)
  --gpus N             emulated GPUs of each node (default: 8; 0: no gres at all)
  --cpus N             CPUs that each node claims (default: 16)
  --affinity           TaskPlugin=task/affinity; nodes claim this machine's CPUs
  --cgroup             as --affinity, and device cgroups that keep a task to its own GPUs (cgroup v1)
  --topology FILE      an hwloc XML that each node has as /run/dtrain/topology.xml
  --switches FILE      a topology.conf, used with TopologyPlugin=topology/tree
  --slurm-conf FILE    lines for slurm.conf; a key in it replaces the lab's own
  --plugstack FILE     the plugstack.conf (default: an empty one)
  --bind DIR           keep DIR visible in the nodes, although it is under /tmp, /run or /dev/shm (repeatable)
  --user NAME          the unprivileged user (default: trainer, which only the lab knows)
of run:
  --as-root            run CMD as root
  --env-clean          give CMD a minimal environment, not the caller's

Exit status: CMD's for run and exec-node; else 0, 1 for a failure, 2 for a wrong option.
END
}

# Start again by sudo where the caller is not root.
need_root() {
  ((EUID != 0)) || return 0
  local -a how=(-E)
  [[ -t 0 ]] || how+=(-n)
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true >/dev/null 2>&1; }; then
    exec sudo "${how[@]}" -- "$LAB_HERE/lab" "$@"
  fi
  die "needs root, to make network and mount namespaces; running as uid $EUID and sudo is not usable: run it as root"
}

# command → Debian package; each missing one is named.
need_commands() {
  local missing=0 row
  [[ :$PATH: = *:/usr/sbin:* ]] || PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
  for row in slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge ip:iproute2 nsenter:util-linux \
    unshare:util-linux setpriv:util-linux setsid:util-linux mount:mount mknod:coreutils timeout:coreutils awk:mawk; do
    command -v "${row%%:*}" >/dev/null && continue
    say_error "the command '${row%%:*}' is missing: apt-get install --no-install-recommends ${row##*:}"
    missing=1
  done
  [[ $missing = 0 ]] || exit 1
}
