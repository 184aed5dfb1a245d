# shellcheck shell=bash disable=SC2034,SC2154
# The lab as a whole: start it, look at it.

LAB_UP_DEADLINE_S=30
LAB_LOG_LINES=6

cluster_up() {
  local began=$EPOCHREALTIME
  LAB_NODES=$opt_nodes LAB_GPUS=$opt_gpus LAB_CGROUP=''
  ((!opt_cgroup)) || { cluster_need_cgroup; LAB_CGROUP=$LAB_ID; }
  getent passwd munge >/dev/null || die "the user 'munge' is missing: apt-get install --no-install-recommends munge"
  folder_create
  trap cluster_up_failed EXIT
  trap 'LAB_FAILURE=interrupted; exit 1' INT TERM HUP
  LAB_DEADLINE=$((SECONDS + LAB_UP_DEADLINE_S))
  cluster_up_steps
  trap - EXIT INT TERM HUP
  say "'$opt_name' is up: $(conf_node_set), $LAB_GPUS GPUs each, user $LAB_USER, $(cluster_seconds_since "$began") s"
  say "try: $LAB_HERE/lab run --name $opt_name -- srun -N$LAB_NODES hostname"
}

# Whichever step fails ends the script; LAB_FAILURE then says what it was about.
cluster_up_steps() {
  local host
  LAB_FAILURE="cannot write the configuration to $LAB_DIR"
  host_choose_net
  conf_write_all
  host_write_binds
  folder_save_settings
  LAB_FAILURE="cannot start the hosts' namespaces"
  for host in $(host_names); do host_start "$host"; done
  cluster_wait "the hosts' namespaces" host_all_marked ready
  LAB_FAILURE="cannot link the hosts"
  for host in $(host_names); do host_pin_net "$host"; done
  host_link_all
  : >"$LAB_DIR/run/linked"
  cluster_wait "the daemons to start" host_all_marked started
  cluster_wait "all nodes to register" cluster_nodes_idle
  cluster_first_job
}

# Wait for a condition while the deadline is ahead and no process of the lab has died.
cluster_wait() {
  local what=$1 dead
  shift
  until "$@"; do
    dead=$(cluster_dead_record)
    if [[ -n $dead ]]; then
      LAB_FAILURE="${dead##*.} of host ${dead%.*} ended while waiting for $what"
      return 1
    fi
    if ((SECONDS >= LAB_DEADLINE)); then
      LAB_FAILURE="waited $LAB_UP_DEADLINE_S s for $what"
      return 1
    fi
    sleep 0.1
  done
}

cluster_dead_record() {
  local record
  for record in "$LAB_DIR"/pid/*; do
    [[ -n $(record_alive_pid "$record") ]] || { printf '%s' "${record##*/}"; return 0; }
  done
}

cluster_nodes_idle() {
  local idle
  idle=$(cluster_client sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l) || return 1
  ((idle == LAB_NODES))
}

cluster_first_job() {
  local answer
  LAB_FAILURE="the first job, srun -N$LAB_NODES true, did not run"
  answer=$(cluster_client srun -N"$LAB_NODES" -n"$LAB_NODES" true 2>&1) && return 0
  LAB_FAILURE+=": ${answer:-no answer within 10 s}"
  return 1
}

# A client command of the lab's own, with a limit.
cluster_client() {
  (opt_as_root=0 opt_env_clean=1 enter_login timeout -k 1 10 "$@") </dev/null
}

cluster_up_failed() {
  local rc=$?
  trap - EXIT
  trap '' INT TERM HUP
  say_error "up of '$opt_name' failed: $LAB_FAILURE"
  cluster_last_lines >&2
  down_all >/dev/null
  say_error "all of it was removed again; correct what the lines above name, then run up again"
  exit $((rc ? rc : 1))
}

cluster_need_cgroup() {
  local controller
  for controller in freezer devices cpuset; do
    [[ -d /sys/fs/cgroup/$controller ]] ||
      die "--cgroup needs the cgroup v1 controllers freezer, devices and cpuset: /sys/fs/cgroup/$controller is missing; leave --cgroup away or start the machine with them"
  done
}

cluster_seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# A daemon's .out repeats its .log, but for what it says before it has one.
cluster_last_lines() {
  local file
  for file in "$LAB_DIR"/log/*; do
    [[ -s $file ]] || continue
    [[ $file != *.out || ! -s ${file%.out}.log ]] || continue
    printf '== %s\n' "$file"
    tail -n $LAB_LOG_LINES -- "$file"
  done
}

cluster_logs() {
  folder_load
  cluster_last_lines
}

# key: value lines; 0 if every daemon lives.
cluster_status() {
  local record pid rc=0
  folder_load
  printf 'name: %s\ndir: %s\nslurm.conf: %s\nplugstack.conf: %s\n' "$opt_name" "$LAB_DIR" "$LAB_DIR/etc/slurm.conf" "$LAB_DIR/etc/plugstack.conf"
  printf 'nodes: %s\ngpus: %s\nnetwork: %s.0/24\nuser: %s %s\nhome: %s\n' "$(conf_node_set)" "$LAB_GPUS" "$LAB_NET" "$LAB_USER" "$LAB_UID" "$LAB_DIR/home"
  for record in "$LAB_DIR"/pid/*; do
    [[ $record != *.unshare ]] || continue
    pid=$(record_alive_pid "$record")
    [[ -n $pid ]] || rc=1
    record=${record##*/}
    printf 'process: %s %s %s\n' "${record%.*}" "${record##*.}" "${pid:-dead}"
  done
  return $rc
}
