#!/bin/bash
# TAP test of lab/lab: real clusters, brought up, used, broken and taken down. Needs root, Slurm and munge.
# shellcheck disable=SC2016,SC2086,SC2317  # tests are called by name; variables are for the other side to expand
set -u
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/tap.sh
. tests/tap.sh

lab=lab/lab
A=t$$a B=t$$b
dir_a=/run/dtrain-lab-$A dir_b=/run/dtrain-lab-$B

run_a() { "$lab" run --name "$A" -- "$@"; }
run_b() { "$lab" run --name "$B" -- "$@"; }
node_a() { "$lab" exec-node --name "$A" "$@"; }

# What a lab could leave on the machine: one line for each thing that names this test's labs, or is in the root network.
leftovers() {
  ip -br link | awk '{ print "link", $1 }'
  ip netns list | sed 's/^/netns /'
  grep -h -e "$dir_a" -e "$dir_b" /proc/[0-9]*/mountinfo 2>/dev/null | sed 's/^/mount /'
  grep -zlE "^SLURM_CONF=($dir_a|$dir_b)/" /proc/[0-9]*/environ 2>/dev/null | sed 's/^/process /'
  find /sys/fs/cgroup -type d -name 'dtrain-lab-*' -prune 2>/dev/null | grep -e "$(id_of "$dir_a")" -e "$(id_of "$dir_b")"
  ls -d "$dir_a" "$dir_b" 2>/dev/null
  awk '$2 !~ /dtrain-lab-/ { print "mounted", $1, $2, $3 }' /proc/mounts
}

id_of() { printf 'dtrain-lab-%s' "$(printf '%s' "$1" | cksum | cut -d' ' -f1)"; }

wait_until() { # SECONDS CMD…
  local tick limit=$1
  shift
  for ((tick = 0; tick < limit * 10; tick++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

cleanup() {
  "$lab" down --name "$A" >/dev/null 2>&1
  "$lab" down --name "$B" >/dev/null 2>&1
  if [[ -d $scratch/noexec ]]; then
    "$lab" down --dir "$scratch/noexec/lab" >/dev/null 2>&1
    umount -n "$scratch/noexec" 2>/dev/null
  fi
  rm -rf -- "$scratch"
}

# --- the command line ---------------------------------------------------------------------------------------------------

test_help() {
  local word
  for word in up run exec-node status logs down; do "$lab" help | grep -q "lab $word" || return 1; done
  "$lab" --help >/dev/null && "$lab" up --help >/dev/null
}

# words of the command line | what the message must hold
bad_options() {
  cat <<'END'
|no command
frobnicate|unknown command 'frobnicate'
up --nodes 0|--nodes '0'
up --nodes 65|from 1 to 64
up --nodes four|--nodes 'four'
up --nodes 08|--nodes '08'
up --nodes|value is missing
up --gpus -1|--gpus '-1'
up --gpus=65|from 0 to 64
up --cpus 0|--cpus '0'
up --cpus 4 --cgroup|cannot go with
up --name Main|--name 'Main'
up --name ../x|--name '../x'
up --name=|--name ''
up --dir relative|absolute path
up --dir /run/../tmp/x|'..'
up --topology /nonexistent|cannot be read
up --topology /etc/hosts|hwloc XML
up --switches /|expected a file
up --user root|uid 0
up --as-root|belongs to 'run'
up extra|unexpected word 'extra'
up -- true|takes no command
run|needs a command
run true|unexpected word 'true'
run --nodes 3 -- true|belongs to 'up'
run --colour -- true|'--colour'
exec-node -- true|needs a node
exec-node m1 -- true|'m1'
exec-node n1|needs a command
down --nodes 3|belongs to 'up'
END
}

test_bad_options() {
  local words expected said rc bad=0
  while IFS='|' read -r words expected; do
    said=$("$lab" $words 2>&1 </dev/null) && rc=0 || rc=$?
    [[ $rc = 2 && $said = *"$expected"* ]] || { echo "'$words': status $rc (want 2), said: $said (want: $expected)"; bad=1; }
  done < <(bad_options)
  return $bad
}

test_absent_lab() {
  local words
  for words in "status --name $A" "logs --name $A" "run --name $A -- true" "exec-node --name $A n1 -- true"; do
    "$lab" $words 2>"$scratch/err" && return 1
    grep -q "'$A' is not up" "$scratch/err" || return 1
  done
  "$lab" down --name "$A"
}

test_not_root() { # without a usable sudo, and with one
  local as=(setpriv --reuid 65534 --clear-groups env)
  mkdir "$scratch/bin"
  printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/sudo"
  chmod -R 755 "$scratch" && chmod 700 "$scratch/closed" && chmod 755 "$scratch/bin/sudo"
  "${as[@]}" PATH="$scratch/bin:$PATH" "$lab" status </dev/null 2>"$scratch/err"
  t_same $? 1 && grep -q 'needs root' "$scratch/err" || return 1
  printf '#!/bin/sh\necho "$@"\n' >"$scratch/bin/sudo"
  t_same "$("${as[@]}" PATH="$scratch/bin:$PATH" "$lab" run --name x -- a 'b c' </dev/null)" "-E -n -- $here/lab/lab run --name x -- a b c"
}

# --- a lab with everything ------------------------------------------------------------------------------------------------

test_up() {
  "$lab" up --name "$A" --topology "$scratch/topology.xml" --switches "$scratch/switches.conf" --slurm-conf "$scratch/extra.conf"
}

test_up_twice() { ! "$lab" up --name "$A" 2>"$scratch/err" && grep -q "has a folder already" "$scratch/err"; }

test_status() {
  "$lab" status --name "$A" >"$scratch/status" || return 1
  grep -qx "plugstack.conf: $dir_a/etc/plugstack.conf" "$scratch/status" && grep -q "^process: n4 slurmd [0-9]" "$scratch/status" && ! grep dead "$scratch/status"
}

test_logs() { "$lab" logs --name "$A" | grep -q "== $dir_a/log/slurmctld.ctl.log"; }

test_hostname() { t_same "$(run_a srun -N4 hostname | sort | xargs)" "n1 n2 n3 n4"; }

test_turnaround() {
  local began=$EPOCHREALTIME
  run_a srun -N4 true || return 1
  echo "srun -N4 true took $(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }') s"
}

test_slurm_conf() { # the key given replaces the lab's own, and the tree of switches is there
  t_same "$(grep -ci '^killwait' "$dir_a/etc/slurm.conf")" 1 && run_a scontrol show config | grep -q 'KillWait *= 3' &&
    run_a scontrol show topology | grep -q 'SwitchName=top'
}

test_user() {
  t_same "$(run_a id -un)" trainer && t_same "$(run_a srun -N2 id -u | sort -u)" "$(run_a id -u)" && [[ $(run_a id -u) != 0 ]] &&
    run_a sh -c 'touch ~/mine && ! touch "$SLURM_CONF"' 2>/dev/null && t_same "$("$lab" run --name "$A" --as-root -- id -u)" 0 &&
    ! getent passwd trainer
}

test_client_process() { # exit status, stdin, folder, and a signal to the command
  local pid
  run_a sh -c 'exit 37'; t_same $? 37 || return 1
  run_a srun -N1 sh -c 'exit 38' 2>/dev/null; t_same $? 38 || return 1
  t_same "$(echo through | run_a srun cat)" through || return 1
  t_same "$(cd / && "$OLDPWD/$lab" run --name "$A" -- pwd)" / || return 1
  t_same "$(cd "$scratch/closed" && "$here/$lab" run --name "$A" -- pwd)" "$dir_a/home" || return 1
  "$lab" run --name "$A" -- sh -c 'trap "echo got > ~/term; exit 5" TERM; while :; do sleep 0.1; done' &
  pid=$!
  sleep 0.5
  kill -TERM $pid
  wait $pid
  t_same $? 5 && [[ -e $dir_a/home/term ]]
}

test_environment() {
  t_same "$(SLURM_JOB_ID=9 SLURM_NTASKS=7 DTRAIN_X=kept run_a sh -c 'echo ${SLURM_JOB_ID-no} ${SLURM_NTASKS-no} $DTRAIN_X $HOME $USER $TMPDIR')" \
    "no no kept $dir_a/home trainer /tmp" || return 1
  t_same "$(DTRAIN_X=kept "$lab" run --name "$A" --env-clean -- sh -c 'echo ${DTRAIN_X-no}')" no
}

test_nodes_apart() { # own /tmp, /dev/shm, processes and host name; a shared home
  run_a srun -N4 sh -c 'echo > /tmp/$(hostname); echo > /dev/shm/$(hostname); echo > ~/on.$(hostname)'
  t_same "$(run_a srun -N4 sh -c 'ls /tmp /dev/shm | grep -c ^n' | sort -u)" 2 && t_same "$(run_a sh -c 'ls ~/on.* | wc -l')" 4 &&
    t_same "$(node_a n2 -- pgrep -xc slurmd)" 1
}

test_topology() {
  t_same "$(run_a srun -N4 stat -c '%u %a' /run/dtrain/topology.xml | sort -u)" "0 644" && run_a srun -N1 cat /run/dtrain/topology.xml | cmp - "$scratch/topology.xml"
}

test_gpus() {
  run_a srun --gres=gpu:8 env >"$scratch/env" && grep -qx CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 "$scratch/env" &&
    grep -qx SLURM_STEP_GPUS=0,1,2,3,4,5,6,7 "$scratch/env" && t_same "$(run_a srun -N4 --gpus-per-node=2 stat -c %F /run/dtrain/dev/nvidia7 | sort -u)" "character special file"
}

test_sbatch() {
  run_a sh -c 'cd && printf "#!/bin/sh\nsrun hostname\nexit 3\n" | sbatch --wait -N3 -o batch.out'; t_same $? 3 || return 1
  t_same "$(sort "$dir_a/home/batch.out" | xargs)" "n1 n2 n3"
}

test_salloc() { t_same "$(run_a salloc -Q -N2 srun hostname | sort | xargs)" "n1 n2" && t_same "$(echo hostname | run_a salloc -Q -N1 2>/dev/null)" n1; }

test_array() {
  run_a sh -c 'cd && sbatch --wait --array=0-3 -o array.%a --wrap "echo \$SLURM_ARRAY_TASK_ID"' || return 1
  t_same "$(cat "$dir_a"/home/array.? | xargs)" "0 1 2 3"
}

test_het_job() { t_same "$(run_a srun -N1 -n1 sh -c 'echo $SLURM_PROCID' : -N2 -n2 sh -c 'echo $SLURM_PROCID' 2>/dev/null | sort | xargs)" "0 1 2"; }

test_het_salloc() { t_same "$(run_a salloc -Q -N1 : -N2 srun --het-group=0,1 hostname | sort -u | wc -l)" 3; }

test_overlap() { # two steps in one allocation on the same CPUs, and two jobs on one node
  t_same "$(run_a salloc -Q -N1 -n16 sh -c 'srun -n16 sleep 1 & srun --overlap -n2 hostname; wait' | xargs)" "n1 n1" || return 1
  t_same "$(run_a sh -c 'srun -w n3 -n1 hostname & srun -w n3 -n1 hostname; wait' | xargs)" "n3 n3"
}

test_requeue() {
  run_a sh -c 'cd && sbatch -o requeue.out --open-mode=append --wrap "echo \${SLURM_RESTART_COUNT:-0}; [ -n \"\$SLURM_RESTART_COUNT\" ] || sleep 60"' || return 1
  wait_until 10 grep -qx 0 "$dir_a/home/requeue.out" || return 1
  run_a sh -c 'scontrol requeue $(squeue -h -o %A -n wrap)' && wait_until 20 grep -qx 1 "$dir_a/home/requeue.out"
}

test_pmix() { # several times: a connection that is rejected now and then shows as a hang
  local k
  # shellcheck disable=SC2046  # several flags
  gcc -o "$scratch/share/pmix" tests/slurm/pmix_hello.c $(pkg-config --cflags --libs pmix) || return 1
  install -m 755 "$scratch/share/pmix" "$dir_a/home/pmix"
  for k in 1 2 3 4 5; do
    t_same "$(run_a timeout 20 srun --mpi=pmix -N4 -n8 "$dir_a/home/pmix" | sort | xargs)" "0:ok 1:ok 2:ok 3:ok 4:ok 5:ok 6:ok 7:ok" || { echo "run $k"; return 1; }
  done
}

test_plugstack() { # read afresh by each step
  local rc
  echo "required /nonexistent/plugin.so" >"$dir_a/etc/plugstack.conf"
  run_a srun true 2>"$scratch/err"; rc=$?
  : >"$dir_a/etc/plugstack.conf"
  ((rc)) && grep -q nonexistent "$scratch/err" && run_a srun true
}

test_exec_node() { # a broken link, and the exit status
  node_a n2 -- sh -c 'exit 9'; t_same $? 9 || return 1
  node_a n2 -- ip link set eth0 down
  ! node_a n1 -- timeout 2 bash -c '</dev/tcp/n2/6818' 2>/dev/null || return 1
  node_a n2 -- ip link set eth0 up
  wait_until 10 node_a n1 -- timeout 1 bash -c '</dev/tcp/n2/6818' && wait_until 10 run_a srun -w n2 true
}

test_node_death() { # all processes of a node die at once; a slurmd started again takes its place
  node_a n3 -- bash -c 'kill -9 -1' 2>/dev/null
  "$lab" status --name "$A" | grep -qx "process: n3 slurmd dead" && t_same "$(run_a srun -w n1,n4 hostname | sort | xargs)" "n1 n4" &&
    node_a n3 -- slurmd -N n3 && wait_until 10 run_a srun -w n3 true
}

test_tty() { # a terminal reaches the task
  command -v script >/dev/null || return 0
  script -qec "$lab run --name $A -- srun --pty tty" /dev/null </dev/null | grep -q /dev/pts
}

test_concurrency() { # many jobs at once, as under make -j
  t_same "$(for _ in 1 2 3 4 5 6 7 8; do run_a srun -N2 hostname & done 2>/dev/null | grep -c '^n[1-4]$')" 16
}

# --- a second lab beside the first ------------------------------------------------------------------------------------------

test_second_up() { "$lab" up --name "$B" --nodes 2 --gpus 4 --cgroup; }

test_side_by_side() {
  t_same "$(run_b srun -N2 hostname | sort | xargs)" "n1 n2" && t_same "$(run_a srun -N4 hostname | sort | xargs)" "n1 n2 n3 n4" || return 1
  [[ $("$lab" status --name "$A" | grep ^network) != $("$lab" status --name "$B" | grep ^network) ]] || return 1
  run_a sbatch -o /dev/null --wrap 'sleep 30' >/dev/null
  t_same "$(run_b squeue -h | wc -l)" 0 && t_same "$(run_a squeue -h | wc -l)" 1 && run_a scancel -u trainer
}

test_device_cgroup() { # a task reaches its own GPU's device node and no other
  run_b srun -N2 -n4 --gpus-per-task=1 bash -c 'for d in 0 1 2 3; do (exec 3<"/run/dtrain/dev/nvidia$d") 2>&1; done' >"$scratch/devices"
  t_same "$(grep -c 'No such device' "$scratch/devices") $(grep -c 'not permitted' "$scratch/devices")" "4 12"
}

test_cpu_binding() {
  local cpus
  cpus=$(nproc)
  ((cpus > 1)) || return 0
  t_same "$(run_b srun -N1 -n2 --cpu-bind=cores sh -c 'grep Cpus_allowed_list /proc/self/status' | sort -u | wc -l)" 2
}

test_kill_slurmd() { # a dead daemon shows, and down still ends its job and its step daemon
  local pid
  run_b sbatch -N2 -o /dev/null --wrap 'srun sleep 300' >/dev/null
  wait_until 10 "$lab" exec-node --name "$B" n2 -- pgrep -x sleep || return 1
  pid=$("$lab" status --name "$B" | awk '$2 == "n1" && $3 == "slurmd" { print $4 }')
  kill -9 "$pid" && ! "$lab" status --name "$B" >"$scratch/status" && grep -qx "process: n1 slurmd dead" "$scratch/status" || return 1
  # shellcheck disable=SC2046  # several pids
  kill -9 $(awk '$2 ~ /ctl|login/ && $3 != "init" || $2 == "n2" && $3 == "init" { print $4 }' "$scratch/status") &&
    "$lab" down --name "$B" && ! leftovers | grep -e "$dir_b" -e "$(id_of "$dir_b")"
}

test_first_unharmed() { t_same "$(run_a srun -N4 hostname | sort | xargs)" "n1 n2 n3 n4"; }

# --- the end ------------------------------------------------------------------------------------------------------------

test_down() { # while jobs, an allocation and a client run
  run_a sbatch -N4 -o /dev/null --wrap 'srun setsid sleep 300' >/dev/null
  "$lab" run --name "$A" -- salloc -Q -N1 sleep 300 </dev/null >/dev/null 2>&1 &
  "$lab" run --name "$A" -- setsid sleep 300 >/dev/null 2>&1 &
  wait_until 10 node_a n4 -- pgrep -x sleep || return 1
  "$lab" down --name "$A" && leftovers | diff "$scratch/before" -
}

test_down_twice() { "$lab" down --name "$A" && "$lab" down --name "$B"; }

test_failing_up() {
  local began=$SECONDS rc
  echo 'SchedulerType=sched/nonsense' >"$scratch/bad.conf"
  "$lab" up --name "$A" --slurm-conf "$scratch/bad.conf" 2>"$scratch/err"; rc=$?
  t_same $rc 1 && ((SECONDS - began < 32)) && grep -q 'sched/nonsense' "$scratch/err" && leftovers | diff "$scratch/before" -
}

test_killed_up() { # at several moments of its work
  local delay pid
  for delay in 0.1 0.2 0.4 0.7; do
    "$lab" up --name "$A" >/dev/null 2>&1 &
    pid=$!
    sleep $delay
    kill -9 $pid
    wait $pid 2>/dev/null
    if ! "$lab" down --name "$A" || ! leftovers | diff "$scratch/before" -; then
      echo "killed after $delay s"
      return 1
    fi
  done
}

test_interrupted_up() {
  local pid rc
  "$lab" up --name "$A" >/dev/null 2>&1 &
  pid=$!
  sleep 0.4
  kill -TERM $pid
  wait $pid; rc=$?
  [[ $rc != 0 ]] && leftovers | diff "$scratch/before" -
}

test_tree_under_tmp() { # the nodes see the tree that the lab was started from, and what --bind names, but no other part of /tmp
  local tree=$scratch/tree
  mkdir "$tree" "$scratch/bound" "$scratch/other" && cp -r lab "$tree" && chmod -R a+rX "$tree" "$scratch/bound" "$scratch/other" || return 1
  (
    cd "$tree" && lab/lab up --name "$A" --nodes 2 --bind "$scratch/bound" || exit 1
    t_same "$(lab/lab run --name "$A" -- srun -N2 sh -c "pwd; ls -d $scratch/*" | sort -u | xargs)" "$scratch/bound $tree"
  ) || return 1
  "$tree/lab/lab" down --name "$A" && leftovers | diff "$scratch/before" -
}

test_noexec_folder() { # many machines mount /run noexec,nodev: programs in the home must run all the same
  local where=$scratch/noexec
  mkdir "$where" && mount -n -t tmpfs -o mode=755,noexec,nodev,nosuid tmpfs "$where" || return 1
  "$lab" up --dir "$where/lab" --nodes 2 && install -m 755 "$(command -v hostname)" "$where/lab/home/program" &&
    t_same "$("$lab" run --dir "$where/lab" -- srun -N2 "$where/lab/home/program" | sort | xargs)" "n1 n2" &&
    "$lab" run --dir "$where/lab" -- "$where/lab/home/program" && "$lab" down --dir "$where/lab" && umount -n "$where" && leftovers | diff "$scratch/before" -
}

test_bare_lab() { # no GPUs, one node, task/affinity, another user, another folder
  "$lab" up --dir "$dir_a" --nodes 1 --gpus 0 --affinity --user nobody || return 1
  t_same "$("$lab" run --dir "$dir_a" -- srun id -un)" nobody && ! "$lab" run --dir "$dir_a" -- srun --gres=gpu:1 true 2>/dev/null &&
    "$lab" down --dir "$dir_a" && leftovers | diff "$scratch/before" -
}

[[ $EUID = 0 ]] || t_skip_all "needs root"
for command in slurmctld slurmd srun munged ip; do
  PATH=$PATH:/usr/sbin:/sbin command -v $command >/dev/null || t_skip_all "$command is not installed"
done
here=$PWD scratch=$(mktemp -d /tmp/dtrain-lab-test.XXXXXX) # short, as a lab's folder must be
trap cleanup EXIT
trap 'exit 1' INT TERM
mkdir -m 700 "$scratch/closed" "$scratch/share"
printf '<?xml version="1.0"?>\n<topology version="2.0"></topology>\n' >"$scratch/topology.xml"
printf 'SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n' >"$scratch/switches.conf"
printf '# a comment\nkillwait = 3\n' >"$scratch/extra.conf"
leftovers >"$scratch/before"

t_ok "help names every command" test_help
t_ok "bad options are refused with status 2, naming the value" test_bad_options
t_ok "a lab that is not up is said to be so; down of it succeeds" test_absent_lab
t_ok "who is not root is told so" test_not_root
t_ok "up, with a topology, switches and lines for slurm.conf" test_up
t_ok "up of a lab that is up is refused" test_up_twice
t_ok "status shows files and living daemons" test_status
t_ok "logs shows paths and lines" test_logs
t_ok "a job over all nodes" test_hostname
t_ok "a short job" test_turnaround
t_ok "given lines replace those of slurm.conf; the switches are there" test_slurm_conf
t_ok "clients and jobs run as an unprivileged user whom the machine does not know" test_user
t_ok "run passes exit status, stdin, folder and signals" test_client_process
t_ok "run cleans the environment" test_environment
t_ok "nodes have their own /tmp, /dev/shm, processes and name, and share the home" test_nodes_apart
t_ok "nodes have the topology file, root's" test_topology
t_ok "GPUs are visible in the environment and as device nodes" test_gpus
t_ok "sbatch --wait" test_sbatch
t_ok "salloc, with a command and with an interactive step" test_salloc
t_ok "a job array" test_array
t_ok "a het job by srun" test_het_job
t_ok "a het job by salloc" test_het_salloc
t_ok "overlapping steps, two jobs on a node" test_overlap
t_ok "a requeued job starts again" test_requeue
if pkg-config --exists pmix && command -v gcc >/dev/null; then
  t_ok "PMIx over four nodes" test_pmix
else
  t_skip "PMIx over four nodes" "pmix's development files or gcc are not installed"
fi
t_ok "a changed plugstack.conf counts from the next step on" test_plugstack
t_ok "exec-node breaks and mends a link" test_exec_node
t_ok "a node's death and return" test_node_death
t_ok "srun --pty has a terminal" test_tty
t_ok "eight jobs at once" test_concurrency
if [[ -d /sys/fs/cgroup/devices && -d /sys/fs/cgroup/freezer && -d /sys/fs/cgroup/cpuset ]]; then
  t_ok "a second lab comes up beside the first, with cgroups" test_second_up
  t_ok "both run jobs and do not see each other" test_side_by_side
  t_ok "device cgroups keep a task to its GPU" test_device_cgroup
  t_ok "tasks are bound to cores" test_cpu_binding
  t_ok "after kill -9 of daemons and of a whole node, down leaves nothing of that lab" test_kill_slurmd
  t_ok "the first lab is unharmed" test_first_unharmed
else
  for what in up side-by-side device-cgroup cpu-binding kill-slurmd unharmed; do t_skip "second lab: $what" "no cgroup v1 controllers"; done
fi
t_ok "down with work in progress leaves nothing" test_down
t_ok "down again is harmless" test_down_twice
t_ok "an up that fails says why and leaves nothing" test_failing_up
t_ok "an up that is killed half-way is cleaned up by down" test_killed_up
t_ok "an up that gets SIGTERM cleans up itself" test_interrupted_up
t_ok "a tree under /tmp is seen by the nodes" test_tree_under_tmp
t_ok "a lab in a folder that is mounted noexec" test_noexec_folder
t_ok "one node without GPUs, task/affinity, another user and folder" test_bare_lab
t_done
