# shellcheck shell=bash disable=SC2034,SC2154
# The lab's configuration files, written once by `up`.

LAB_CTL_PORT=6817
LAB_NODE_PORT=6818
# Also how long a requeued job waits before it starts again.
LAB_CRED_EXPIRE_S=10

conf_write_all() {
  conf_write_users
  conf_write_hosts
  conf_write_gres >"$LAB_DIR/etc/gres.conf"
  conf_write_cgroup >"$LAB_DIR/etc/cgroup.conf"
  conf_copy "$opt_plugstack" plugstack.conf
  conf_copy "$opt_topology" topology.xml
  conf_copy "$opt_switches" topology.conf
  conf_write_slurm | conf_merge "${opt_slurm_conf:-/dev/null}" >"$LAB_DIR/etc/slurm.conf"
  conf_write_munge
  chmod 644 "$LAB_DIR"/etc/*
}

# An empty plugstack.conf is made where none is given; the other files are then absent.
conf_copy() {
  if [[ -n $1 ]]; then
    cat -- "$1" >"$LAB_DIR/etc/$2"
  elif [[ $2 = plugstack.conf ]]; then
    : >"$LAB_DIR/etc/$2"
  fi
}

# The machine's users and one more, for the lab's namespaces only.
conf_write_users() {
  local line
  if line=$(getent passwd "$opt_user"); then
    IFS=: read -r _ _ LAB_UID LAB_GID _ <<<"$line"
  else
    LAB_UID=64000
    while getent passwd $LAB_UID >/dev/null || getent group $LAB_UID >/dev/null; do LAB_UID=$((LAB_UID + 1)); done
    LAB_GID=$LAB_UID
  fi
  LAB_USER=$opt_user
  {
    awk -F: -v user="$LAB_USER" '$1 != user' /etc/passwd
    printf '%s:x:%d:%d:user of a dtrain lab:%s:/bin/bash\n' "$LAB_USER" "$LAB_UID" "$LAB_GID" "$LAB_DIR/home"
  } >"$LAB_DIR/etc/passwd"
  {
    cat /etc/group
    getent group "$LAB_GID" >/dev/null || printf '%s:x:%d:\n' "$LAB_USER" "$LAB_GID"
  } >"$LAB_DIR/etc/group"
  chown "$LAB_UID:$LAB_GID" "$LAB_DIR/home"
  chmod 755 "$LAB_DIR/home"
}

conf_write_hosts() {
  local host
  {
    printf '127.0.0.1 localhost\n'
    for host in $(host_names); do printf '%s %s\n' "$(host_address "$host")" "$host"; done
  } >"$LAB_DIR/etc/hosts"
}

conf_node_set() {
  if ((LAB_NODES == 1)); then printf 'n1'; else printf 'n[1-%d]' "$LAB_NODES"; fi
}

conf_write_gres() {
  ((LAB_GPUS)) || return 0
  printf 'NodeName=%s Name=gpu Type=a100 File=/run/dtrain/dev/nvidia' "$(conf_node_set)"
  if ((LAB_GPUS == 1)); then printf '0\n'; else printf '[0-%d]\n' $((LAB_GPUS - 1)); fi
}

conf_write_cgroup() {
  printf 'CgroupAutomount=yes\n'
  ((!opt_cgroup)) || printf 'CgroupPlugin=cgroup/v1\nConstrainDevices=yes\n'
}

# The processors that a node claims: those asked for on two sockets, or this machine's own.
conf_node_cpus() {
  local cpus=${opt_cpus:-16}
  if ((opt_affinity || opt_cgroup)); then
    slurmd -C | grep -oE '\b(CPUs|Boards|SocketsPerBoard|CoresPerSocket|ThreadsPerCore)=[0-9]+' | tr '\n' ' '
  elif ((cpus % 2)); then
    printf 'CPUs=%d Boards=1 SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1' "$cpus" "$cpus"
  else
    printf 'CPUs=%d Boards=1 SocketsPerBoard=2 CoresPerSocket=%d ThreadsPerCore=1' "$cpus" $((cpus / 2))
  fi
}

conf_write_slurm() {
  local task=task/none track=proctrack/linuxproc gres='' topology=topology/none
  ((!opt_affinity)) || task=task/affinity
  ((!opt_cgroup)) || task=task/affinity,task/cgroup track=proctrack/cgroup
  ((!LAB_GPUS)) || gres="Gres=gpu:a100:$LAB_GPUS"
  [[ -z $opt_switches ]] || topology=topology/tree
  cat <<END
ClusterName=lab
SlurmctldHost=ctl($(host_address ctl))
SlurmctldPort=$LAB_CTL_PORT
SlurmdPort=$LAB_NODE_PORT
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$LAB_DIR/munge/socket,cred_expire=$LAB_CRED_EXPIRE_S
CredType=cred/munge
StateSaveLocation=$LAB_DIR/state
SlurmdSpoolDir=/run/dtrain/spool
SlurmctldPidFile=$LAB_DIR/run/slurmctld.pid
SlurmdPidFile=$LAB_DIR/run/slurmd.%n.pid
SlurmctldLogFile=$LAB_DIR/log/slurmctld.ctl.log
SlurmdLogFile=$LAB_DIR/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
PlugStackConfig=$LAB_DIR/etc/plugstack.conf
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType=$track
TaskPlugin=$task
TopologyPlugin=$topology
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
LaunchParameters=use_interactive_step
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1,bf_hetjob_immediate
PriorityType=priority/basic
TaskProlog=/run/dtrain/task_prolog
ReturnToService=2
JobRequeue=1
KillWait=2
UnkillableStepTimeout=10
InactiveLimit=0
WaitTime=0
CompleteWait=0
BatchStartTimeout=20
SlurmctldTimeout=30
SlurmdTimeout=30
MessageTimeout=20
${gres:+GresTypes=gpu}
NodeName=$(conf_node_set) $(conf_node_cpus) RealMemory=65536 $gres State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

# stdin without the lines whose key file $1 has too, then file $1. Continued lines count by their first.
conf_merge() {
  awk -v extra="$1" '
    function key(line) { sub(/^[ \t]+/, "", line); sub(/[ \t]*=.*/, "", line); return tolower(line) }
    BEGIN { while ((getline line < extra) > 0) if (line !~ /^[ \t]*(#|$)/) given[key(line)] = 1 }
    $0 != "" && !(key($0) in given)' -
  cat -- "$1"
}

conf_write_munge() {
  head -c 128 /dev/urandom >"$LAB_DIR/munge/key"
  chmod 400 "$LAB_DIR/munge/key"
  chown -R munge: "$LAB_DIR/munge"
}
