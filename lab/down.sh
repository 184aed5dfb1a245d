# shellcheck shell=bash disable=SC2034,SC2154
# End a lab, whole or half made: every process by its recorded pid or its recorded network namespace, never by name.

LAB_KILL_TICKS=100 # of 50 ms

down_all() {
  if ! folder_exists; then
    say "'$opt_name' is not up: nothing to do"
    return 0
  fi
  folder_check_owner
  down_processes || die "processes of '$opt_name' do not end: $(down_list_inhabitants | tr '\n' ' '); kept $LAB_DIR, try again"
  down_mounts
  down_cgroups
  rm -rf --one-file-system -- "$LAB_DIR" || die "cannot remove $LAB_DIR: see the message above, then run down again"
  say "'$opt_name' is down"
}

# The first processes take all of their process namespace with them; the rest is found by network namespace.
down_processes() {
  local record pid tick
  for ((tick = 0; tick < LAB_KILL_TICKS; tick++)); do
    down_thaw
    for record in "$LAB_DIR"/pid/*; do
      pid=$(record_alive_pid "$record")
      [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null || true
    done
    pid=$(down_list_inhabitants)
    # shellcheck disable=SC2086
    [[ -z $pid ]] || kill -KILL $pid 2>/dev/null || true
    down_all_dead && return 0
    sleep 0.05
  done
  return 1
}

down_all_dead() {
  local record
  for record in "$LAB_DIR"/pid/*; do
    [[ -z $(record_alive_pid "$record") ]] || return 1
  done
  [[ -z $(down_list_inhabitants) ]]
}

# The pids of all processes in a network namespace that this lab pinned.
down_list_inhabitants() {
  local pins
  pins=$(down_list_pins)
  [[ -n $pins ]] || return 0
  { stat -Lc '%n %d:%i' /proc/[0-9]*/ns/net 2>/dev/null || true; } | awk -F'[/ ]' -v pins="$pins" '
    BEGIN { n = split(pins, list, "\n"); for (i = 1; i <= n; i++) pinned[list[i]] = 1 }
    $NF in pinned { print $3 }'
}

# Only what is a namespace now counts: after a reboot the pins are plain files. Never our own, whatever a pin says.
down_list_pins() {
  local pin own
  own=$(stat -Lc '%d:%i' /proc/self/ns/net)
  for pin in "$LAB_DIR"/ns/*; do
    [[ -e $pin && $(stat -fc %T -- "$pin") = nsfs ]] || continue
    stat -Lc '%d:%i' -- "$pin" | grep -vxF "$own" || true
  done
}

down_mounts() {
  local point
  while read -r point; do
    umount -n -- "$point" 2>/dev/null || umount -n --lazy -- "$point" || true
  done < <(awk -v top="$LAB_DIR/" 'index($2, top) == 1 { print $2 }' /proc/mounts | sort -r)
}

# A frozen process does not die.
down_thaw() {
  local state
  [[ -d /sys/fs/cgroup/freezer/$LAB_ID ]] || return 0
  find "/sys/fs/cgroup/freezer/$LAB_ID" -name freezer.state | while read -r state; do
    echo THAWED 2>/dev/null >"$state" || true
  done
}

# A cgroup stays busy for a moment after its last process.
down_cgroups() {
  local top tick
  for top in /sys/fs/cgroup/*/"$LAB_ID"; do
    [[ -d $top ]] || continue
    for ((tick = 0; tick < LAB_KILL_TICKS; tick++)); do
      find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || true
      [[ -d $top ]] || break
      sleep 0.05
    done
    [[ ! -d $top ]] || say_error "cannot remove the cgroup $top: something outside the lab is in it"
  done
}
