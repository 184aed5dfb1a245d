# shellcheck shell=bash disable=SC2034,SC2154
# A host is a set of namespaces: nodes n1..nN, ctl (munged, slurmctld and the bridge) and login (the clients).

# ctl is .254 and login .253 of the lab's network, node K is .K.
host_address() {
  case $1 in
    ctl) printf '%s.254' "$LAB_NET" ;;
    login) printf '%s.253' "$LAB_NET" ;;
    n*) printf '%s.%d' "$LAB_NET" "${1#n}" ;;
  esac
}

# 10.x.y, x in 64..127: one that neither this machine nor another lab uses.
host_choose_net() {
  local start=${LAB_ID##*-} i seed
  for ((i = 0; i < 16384; i++)); do
    seed=$(((start + i) % 16384))
    LAB_NET=10.$((64 + seed / 256)).$((seed % 256))
    host_net_taken || return 0
  done
  die "no free network 10.64.0.0/24 … 10.127.255.0/24 is left: expected one without a route on this machine"
}

host_net_taken() {
  ip -4 route show table all | grep -qF " $LAB_NET." && return 0
  ip -4 route show table all | grep -qE "^$LAB_NET\." && return 0
  grep -qsxF "LAB_NET=$LAB_NET" /run/dtrain-lab-*/settings
}

# The folders below a private mount that must stay visible: the lab's own, the user's, and this tree's.
host_write_binds() {
  local path
  {
    for path in "${opt_bind[@]}" "$PWD" "$(dirname -- "$LAB_HERE")" "${TMPDIR:-/tmp}"; do
      path=$(realpath -- "$path" 2>/dev/null) || continue
      [[ $path =~ ^(/tmp|/run|/dev/shm)/. ]] && printf '%s\n' "$path"
    done
    true
  } | sort -u >"$LAB_DIR/etc/binds"
}

# login has no process namespace, so that `lab run` is the command's own process and signals reach it.
host_start() {
  local -a flags=(--net --mount --uts --ipc)
  [[ $1 = login ]] || flags+=(--pid --fork)
  env -i PATH="$PATH" LANG=C.UTF-8 SLURM_CONF="$LAB_DIR/etc/slurm.conf" \
    setsid unshare "${flags[@]}" -- bash "$LAB_HERE/host-init.sh" "$LAB_DIR" "$1" "$LAB_CGROUP" </dev/null >"$LAB_DIR/log/host.$1.log" 2>&1 &
  printf '%d %s\n' $! "$(process_starttime $!)" >"$LAB_DIR/pid/$1.unshare"
  disown
}

# Keep host $1's network namespace under a name of its own until `down`.
host_pin_net() {
  : >"$LAB_DIR/ns/$1"
  mount -n --bind "/proc/$(host_pid "$1")/ns/net" "$LAB_DIR/ns/$1"
}

# A link from every host's eth0 to the bridge in ctl: nothing of it is in the machine's own network.
host_link_all() {
  local host
  for host in $(host_names); do
    [[ $host != ctl ]] || continue
    printf 'link add name %s mtu 1500 type veth peer name eth0 mtu 1500 netns %d\n' "$host" "$(host_pid "$host")"
    printf 'link set dev %s master br0 up\n' "$host"
  done | nsenter --net="$LAB_DIR/ns/ctl" ip -batch -
}

# 0 once every host has left the mark run/$1.HOST.
host_all_marked() {
  local host
  for host in $(host_names); do [[ -e $LAB_DIR/run/$1.$host ]] || return 1; done
}
