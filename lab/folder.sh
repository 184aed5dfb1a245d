# shellcheck shell=bash disable=SC2034,SC2154
# The lab's folder: all that a lab is on disk, and the records by which it can be ended.
#
#   settings      what `up` was asked for, shell assignments
#   etc/          slurm.conf, gres.conf, cgroup.conf, plugstack.conf, topology.conf, hosts, passwd, group
#   pid/HOST.WHAT "pid starttime" as the machine counts them
#   ns/HOST       a bind mount of the host's network namespace: while it is there, its inode number names no other
#   run/          marks by which the hosts wait for each other
#   log/ spool/ state/ munge/ home/ stage/

folder_locate() {
  LAB_DIR=${opt_dir:-/run/dtrain-lab-$opt_name}
  LAB_ID=dtrain-lab-$(printf '%s' "$LAB_DIR" | cksum | cut -d' ' -f1)
}

# Made whole or not at all: a second `up` of the same lab loses here.
folder_create() {
  [[ ! -e $LAB_DIR ]] || die "lab '$opt_name' has a folder already, $LAB_DIR: '$LAB_HERE/lab down --name $opt_name' ends it"
  mkdir -m 755 -- "$LAB_DIR" || die "cannot make the lab's folder $LAB_DIR: expected its parent to exist and be writable"
  (umask 022 && cd -- "$LAB_DIR" && mkdir etc pid ns run log spool state munge home stage)
}

folder_exists() { [[ -d $LAB_DIR ]]; }

# Records in the folder say which processes to end, so only root may have written them.
folder_check_owner() {
  local owner_mode
  owner_mode=$(stat -c '%u %a' -- "$LAB_DIR")
  [[ $owner_mode =~ ^0\ [0-7]?[0-7][0145][0145]$ ]] ||
    die "folder $LAB_DIR has owner and mode '$owner_mode': expected root's and writable by root alone; not touching it"
}

folder_load() {
  folder_exists || die "lab '$opt_name' is not up (no folder $LAB_DIR): '$LAB_HERE/lab up --name $opt_name' starts it"
  folder_check_owner
  [[ -r $LAB_DIR/settings ]] || die "lab '$opt_name' is half made ($LAB_DIR/settings is missing): '$LAB_HERE/lab down --name $opt_name' removes it"
  # shellcheck source=/dev/null
  . "$LAB_DIR/settings"
}

folder_save_settings() {
  local name
  for name in LAB_NODES LAB_GPUS LAB_NET LAB_USER LAB_UID LAB_GID LAB_CGROUP; do
    printf '%s=%q\n' "$name" "${!name}"
  done >"$LAB_DIR/settings"
}

# The starttime of process $1 (field 22 of its stat), empty if it is gone.
process_starttime() {
  local line
  local -a field
  { read -r line </proc/"$1"/stat; } 2>/dev/null || return 0
  read -ra field <<<"${line##*) }"
  [[ ${field[0]} = Z ]] || printf '%s' "${field[19]}"
}

# Record $1 (a path under pid/) → the pid if that very process lives, else nothing.
record_alive_pid() {
  local pid='' start=''
  if [[ -r $1 ]]; then read -r pid start <"$1" || true; fi
  [[ $pid =~ ^[0-9]+$ && -n $start ]] || return 0
  if [[ $(process_starttime "$pid") = "$start" ]]; then printf '%s' "$pid"; fi
}

# The pid of host $1's first process, by which its namespaces are entered.
host_pid() { record_alive_pid "$LAB_DIR/pid/$1.init"; }

host_names() {
  local k
  for ((k = 1; k <= LAB_NODES; k++)); do printf 'n%d ' "$k"; done
  printf 'ctl login\n'
}
