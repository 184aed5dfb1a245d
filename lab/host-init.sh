#!/bin/bash
# The first process of a host, inside its namespaces: host-init.sh DIR HOST CGROUP. Sets the host up, starts its daemons,
# then waits for its end, which ends all processes of the host.
set -euo pipefail

LAB_WAIT_TICKS=600 # of 50 ms

# Record a process by the machine's numbers: descriptor 8 is the machine's /proc. By a rename, as `up` is reading already.
record_self() {
  local line
  local -a field
  read -r line </proc/self/fd/8/self/stat
  read -ra field <<<"${line##*) }"
  printf '%d %s\n' "${line%% *}" "${field[19]}" >"$dir/run/record.$host.$1"
  mv "$dir/run/record.$host.$1" "$dir/pid/$host.$1"
}

close_inherited() {
  local fd
  for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    ((fd <= 2 || fd == 255)) || eval "exec $fd>&-"
  done
}

wait_for() {
  local tick
  for ((tick = 0; tick < LAB_WAIT_TICKS; tick++)); do
    [[ ! -e $dir/run/$1 ]] || return 0
    sleep 0.05
  done
  echo "host $host: no mark '$1' after $((LAB_WAIT_TICKS / 20)) s"
  exit 1
}

# Own cgroups: slurmd names its folders after job ids only, so nodes that share a machine must not share a hierarchy.
cgroup_join() {
  local controller top
  for controller in freezer devices cpuset; do
    top=/sys/fs/cgroup/$controller
    cgroup_make "$top" "$top/$cgroup"
    cgroup_make "$top/$cgroup" "$top/$cgroup/$host"
    echo 0 >"$top/$cgroup/$host/cgroup.procs"
  done
}

cgroup_make() {
  local file
  mkdir -p "$2"
  for file in cpuset.cpus cpuset.mems; do
    [[ ! -e $1/$file ]] || cat "$1/$file" >"$2/$file"
  done
}

cgroup_mount() {
  local controller
  mount -n -t tmpfs -o mode=755 tmpfs "$dir/stage"
  for controller in freezer devices cpuset; do
    mkdir "$dir/stage/$controller"
    mount -n -t cgroup -o "$controller" cgroup "$dir/stage/$controller"
  done
  mount -n --move "$dir/stage" /sys/fs/cgroup
}

# Many machines mount /run noexec; users put programs into the lab's home.
bind_executable() {
  mount -n --bind "$1" "$2"
  mount -n -o remount,bind,exec "$2"
}

# An own, empty $1 in which only the lab's folder and the binds below it stay visible.
private_mount() {
  local mode=$2 path last=''
  mount -n -t tmpfs -o "mode=$mode" tmpfs "$dir/stage"
  while read -r path; do
    [[ $path = "$1"/* ]] || continue
    [[ -z $last || $path/ != "$last"/* ]] || continue
    mkdir -p "$dir/stage/${path#"$1"/}"
    bind_executable "$path" "$dir/stage/${path#"$1"/}"
    last=$path
  done < <({ printf '%s\n' "$dir"; cat "$dir/etc/binds"; } | sort -u)
  mount -n --move "$dir/stage" "$1"
}

mount_files() {
  local file
  for file in hosts passwd group; do
    mount -n --bind "$dir/etc/$file" "/etc/$file"
  done
}

# What the plugin may trust: root's own files at fixed paths.
mount_machine() {
  local k gpus
  mkdir -p /run/dtrain/dev
  [[ ! -e $dir/etc/topology.xml ]] || install -m 644 "$dir/etc/topology.xml" /run/dtrain/topology.xml
  # shellcheck source=/dev/null
  gpus=$(. "$dir/settings" && printf '%d' "$LAB_GPUS")
  for ((k = 0; k < gpus; k++)); do mknod -m 666 "/run/dtrain/dev/nvidia$k" c 195 "$k"; done
}

# slurmstepd takes the user's effective uid while it forks its tasks, and then rejects the PMIx connection of a node that was
# faster, as munge finds the credential made out to root; the fence never ends (Slurm 22.05). It makes that rare, not impossible: PMIx tasks start a little later.
write_task_prolog() {
  # shellcheck disable=SC2016  # for the task
  printf '#!/bin/sh\n[ -z "$SLURM_PMIX_MAPPING_SERV" ] || sleep 0.2\n' >/run/dtrain/task_prolog
  chmod 755 /run/dtrain/task_prolog
}

network_up() {
  local address
  address=$(awk -v host="$host" '$2 == host { print $1 }' "$dir/etc/hosts")
  if [[ $host = ctl ]]; then
    ip address add "$address/24" dev br0
  else
    ip address add "$address/24" dev eth0
    ip link set dev eth0 up
  fi
}

start() {
  local what=$1
  shift
  (
    record_self "$what"
    exec 8<&- </dev/null >"$dir/log/$what.$host.out" 2>&1
    exec "$@"
  ) &
}

wait_for_listener() {
  local tick
  for ((tick = 0; tick < LAB_WAIT_TICKS; tick++)); do
    [[ -z $(ss -Hltn "sport = :$1") ]] || return 0
    sleep 0.05
  done
}

start_daemons() {
  case $host in
    ctl)
      start munged setpriv --reuid munge --regid munge --clear-groups -- munged --foreground --key-file="$dir/munge/key" \
        --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed"
      wait_for ../munge/socket
      start slurmctld slurmctld -D
      wait_for_listener "$(awk -F= '$1 == "SlurmctldPort" { print $2 }' "$dir/etc/slurm.conf")"
      : >"$dir/run/controller" ;;
    n*)
      wait_for controller
      mkdir -p /run/dtrain/spool
      start slurmd slurmd -D -N "$host" ;;
  esac
}

main() {
  dir=$1 host=$2 cgroup=$3
  if [[ -z ${LAB_SECOND_PASS:-} ]]; then
    close_inherited
    cd /
    umask 022
    exec 8</proc
    record_self init
    if [[ -n $cgroup && $host = n* ]]; then
      cgroup_join
      LAB_SECOND_PASS=1 exec unshare --cgroup -- bash "$0" "$@"
    fi
  fi
  unset LAB_SECOND_PASS
  echo "$host" >/proc/sys/kernel/hostname
  mount_files
  if [[ $host != login ]]; then
    mount -n -t proc proc /proc
    private_mount /tmp 1777
    private_mount /dev/shm 1777
    private_mount /run 755
    mount_machine
    write_task_prolog
  else
    bind_executable "$dir" "$dir"
  fi
  if [[ -n $cgroup && $host = n* ]]; then cgroup_mount; fi
  ip link set dev lo up
  if [[ $host = ctl ]]; then ip link add name br0 type bridge && ip link set dev br0 up; fi
  : >"$dir/run/ready.$host"
  wait_for linked
  network_up
  start_daemons
  : >"$dir/run/started.$host"
  # As pid 1 of its namespace bash reaps what the daemons leave behind.
  while :; do
    sleep infinity &
    wait $! || true
  done
}

main "$@"
