#!/bin/bash
# Binding on real clusters, three labs of this test's own: nodes whose topology a file says, nodes that claim this
# machine's CPUs, and nodes with device cgroups.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/slurm/node_xml.sh
. "$DT_SRCDIR/tests/slurm/node_xml.sh"

cd / # a folder that every node has
: "${DT_PLUGIN:?}"
xml=$DT_BUILDDIR/binding-node.xml
DT_LAB=$DT_LAB-binding

# shellcheck disable=SC2329  # called by the trap
down() { "$DT_SRCDIR/lab/lab" down --name "$DT_LAB" >/dev/null 2>&1; }
trap down EXIT

# up CORES lab-option…: a lab with our plugin, whose nodes have the XML of CORES cores a NUMA node.
up() {
  local home
  node_xml "$1" >"$xml"
  shift
  down
  "$DT_SRCDIR/lab/lab" up --name "$DT_LAB" --gpus 8 --topology "$xml" "$@" >/dev/null || exit 1
  home=$("$DT_SRCDIR/lab/lab" status --name "$DT_LAB" | sed -n 's/^home: //p')
  DT_PLUGSTACK=$("$DT_SRCDIR/lab/lab" status --name "$DT_LAB" | sed -n 's/^plugstack.conf: //p')
  work=$home/binding-test
  mkdir -p "$work"
  chmod 1777 "$work"
  cp "$DT_PLUGIN" "$work/"
  plugstack="required $work/spank_dtrain.so"
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
  who=$work/who
  cat >"$who" <<'END'
#!/bin/bash
echo "rank=${RANK-} cuda=${CUDA_VISIBLE_DEVICES-} rocr=${ROCR_VISIBLE_DEVICES-} order=${CUDA_DEVICE_ORDER-}" \
  "ucx=${UCX_NET_DEVICES-} hca=${NCCL_IB_HCA-} omp=${OMP_NUM_THREADS-} node=$SLURMD_NODENAME" \
  "cpus=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status) mem=$(awk '{ print $2; exit }' /proc/self/numa_maps)" \
  "step=${SLURM_STEP_GPUS-}"
END
  chmod 755 "$who"
}

through=() # what the srun of `ran` is started by: an salloc, where a step must have more tasks than CPUs

# ran NAME srun-arguments…: such a step of `who` runs. Its lines by rank are in $lines, all that was said in $said.
ran() {
  local name=$1 rc=0
  shift
  said=$(lab_run timeout 60 "${through[@]}" srun "$@" "$who" 2>&1) || rc=$?
  lines=$(grep '^rank=' <<<"$said" | sort -V)
  t_is "$name: runs" "$rc" 0 || printf '%s\n' "$said" | sed 's/^/# /'
}

# fact KEY: of each line, joined by blanks.
fact() {
  sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<" $lines" | tr '\n' ' ' | sed 's/ $//'
}

# alike KEY: the value that all lines share.
alike() {
  sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<"$lines" | sort -u
}

times_said() { grep -c -- "$1" <<<"$said"; }

# ---- A topology from a file: who gets which GPU and NIC ----

test_gpus() {
  ran "8 GPUs in pairs" -N1 -n8 --gres=gpu:8 --dtrain-tp=2
  t_is "8 GPUs in pairs: the same list for all, pairs together" "$(alike cuda)" "0,3,1,2,4,7,5,6"
  t_is "8 GPUs in pairs: by PCI address" "$(alike order)" "PCI_BUS_ID"
  t_is "8 GPUs in pairs: the lists of other vendors stay" "$(alike rocr)" "0,1,2,3,4,5,6,7"
  t_is "8 GPUs in pairs: the nearest NIC" "$(fact ucx)" \
    "mlx5_0:1 mlx5_0:1 mlx5_0:1 mlx5_0:1 mlx5_1:1 mlx5_1:1 mlx5_1:1 mlx5_1:1"
  t_is "8 GPUs in pairs: NCCL_IB_HCA and OMP_NUM_THREADS are not set" "$(alike hca)$(alike omp)" ""
  t_is "8 GPUs in pairs: in silence" "$(times_said dtrain)" 0
  ran "no groups" -N1 -n8 --gres=gpu:8 --dtrain=on
  t_is "no groups: the order stays" "$(alike cuda)" "0,1,2,3,4,5,6,7"
  ran "part of a node" -N1 -n4 --gres=gpu:4 --dtrain-tp=2
  t_is "part of a node: inside what Slurm gave" "$(alike cuda)" "0,3,1,2"
  ran "one visible" -N1 -n8 --gres=gpu:8 --dtrain-tp=2 --dtrain-visible=own
  t_is "one visible: each its own" "$(fact cuda)" "0 3 1 2 4 7 5 6"
  ran "two nodes" -N2 --ntasks-per-node=4 --gres=gpu:4 --dtrain-tp=2
  t_is "two nodes: both" "$(alike cuda)" "0,3,1,2"
  ran "--exclusive" -N1 -n2 --exclusive --gres=gpu:8 --dtrain-tp=2
  t_is "--exclusive: the best pair first" "$(alike cuda)" "0,3,1,2,4,5,6,7"
  ran "more tasks than GPUs on the host" -N1 -n4 --gres=gpu:2 --dtrain-tp=4 --dtrain-backend=host
  t_is "more tasks than GPUs on the host: as Slurm gave" "$(alike cuda)" "0,1"
}

# hold GPUS: another job on node n1 until unhold.
hold() {
  rm -f "$work/held"
  lab_run srun -w n1 -N1 -n1 -J held "--gres=gpu:$1" bash -c "touch $work/held; sleep 60" >/dev/null 2>&1 &
  held=$!
  for _ in $(seq 100); do
    [ ! -e "$work/held" ] || return 0
    sleep 0.1
  done
}

unhold() {
  lab_run scancel -n held
  wait "$held"
}

test_two_jobs() {
  hold 2
  ran "a second job on the node" -w n1 -N1 -n4 --gres=gpu:6 --dtrain-tp=2
  t_is "a second job on the node: only what it was given" "$(alike cuda)" "4,7,5,6,2,3"
  unhold
}

test_isolated() {
  ran "--gpus-per-task" -N1 -n4 --gpus-per-task=1 --dtrain-tp=2
  t_is "--gpus-per-task: the lists stay" "$(fact cuda)" "0 1 2 3"
  t_is "--gpus-per-task: is said once, with the flag" "$(times_said 'use --gpus-per-node=4 or --gres=gpu:4')" 1
  ran "--gpu-bind that isolates" -N1 -n2 --gres=gpu:2 --gpu-bind=single:1 --dtrain-tp=2
  t_is "--gpu-bind that isolates: the lists stay" "$(fact cuda)" "0 1"
  t_is "--gpu-bind that isolates: is said once" "$(times_said 'each task has 1 of the 2 GPUs')" 1
}

test_choices() {
  ran "a --gpu-bind of the user's" -N1 -n8 --gres=gpu:8 --gpu-bind=closest --dtrain-tp=2 --dtrain-bind=verbose
  t_is "a --gpu-bind of the user's: wins" "$(alike cuda)" "0,1,2,3,4,5,6,7"
  t_is "a --gpu-bind of the user's: which every task says" "$(times_said 'gpu-bind wins')" 8
  ran "nothing bound" -N1 -n8 --gres=gpu:8 --dtrain-tp=2 --dtrain-bind=none
  t_is "nothing bound: as Slurm gave" "$(alike cuda):$(alike order):$(alike ucx)" "0,1,2,3,4,5,6,7::"
  ran "only GPUs" -N1 -n8 --gres=gpu:8 --dtrain-tp=2 --dtrain-bind=gpu
  t_is "only GPUs: no NIC" "$(alike cuda):$(alike ucx)" "0,3,1,2,4,7,5,6:"
  ran "verbose" -N1 -n8 --gres=gpu:8 --dtrain-tp=2 --dtrain-bind=verbose
  t_is "verbose: a line a task" "$(times_said '^dtrain: rank [0-7], local [0-7] on n[12]: GPU 0000:')" 8
  t_holds "verbose: with the place" "$said" "rank 1, local 1 on n1: GPU 0000:13:00.0"
  ran "a report" -N2 --ntasks-per-node=2 --gres=gpu:2 --dtrain-tp=2 --dtrain-report
  t_is "a report: a line a node" "$(times_said '^dtrain: n[12]: local 0: GPU 0000:10:00.0.*; local 1: GPU 0000:11:00.0')" 2
  said=$(lab_run env UCX_NET_DEVICES=mlx5_9:1 srun -N1 -n1 --gres=gpu:1 --dtrain=on "$who" 2>&1)
  t_holds "a UCX_NET_DEVICES of the user's stays" "$said" "ucx=mlx5_9:1"
  printf 'bind = gpu\nvisible = own\n' >"$work/dtrain.conf"
  printf '%s conf=%s/dtrain.conf\n' "$plugstack" "$work" >"$DT_PLUGSTACK"
  ran "dtrain.conf" -N1 -n2 --gres=gpu:4 --dtrain-tp=2
  t_is "dtrain.conf: its choice reaches the nodes" "$(fact cuda):$(alike ucx)" "0 3:"
  ran "dtrain.conf and options" -N1 -n2 --gres=gpu:4 --dtrain-tp=2 --dtrain-bind=gpu,nic --dtrain-visible=all
  t_is "dtrain.conf and options: these win" "$(alike cuda):$(alike ucx)" "0,3,1,2:mlx5_0:1"
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
}

test_inherited() {
  printf '#!/bin/bash\nsrun %s\nsrun --dtrain-visible=all %s\n' "$who" "$who" >"$work/batch.sh"
  lab_run timeout 60 sbatch -W -N1 -n2 --gres=gpu:4 --dtrain-tp=2 --dtrain-visible=own -o "$work/batch.out" "$work/batch.sh" \
    >/dev/null 2>&1
  lines=$(grep '^rank=' "$work/batch.out")
  t_is "sbatch: its srun inherits, an option of srun's own wins" "$(sed -n 's/.* cuda=\([^ ]*\).*/\1/p' <<<"$lines" | sort | tr '\n' ' ')" \
    "0 0,3,1,2 0,3,1,2 3 "
  said=$(lab_run timeout 60 srun -N1 -n1 --gres=gpu:2 --dtrain=on srun --overlap -n1 env 2>&1)
  t_is "a step inside a step: what the binder set is gone" \
    "$(grep -cE '^(UCX_NET_DEVICES|CUDA_DEVICE_ORDER|SLURM_DTRAIN_[A-Z]*)=' <<<"$said")" 0
  t_holds "a step inside a step: it ran" "$said" "SLURM_PROCID=0"
}

# ---- Files that are no topology ----

# broken NAME WORDS COMMAND: after COMMAND, root's on node n1, the file there is refused, which is said once.
broken() {
  local name="a file that is $1" words=$2
  lab_node n1 bash -c "rm -f /run/dtrain/topology.xml; $3"
  ran "$name" -w n1 -N1 -n4 --gres=gpu:4 --dtrain-tp=2
  t_is "$name: the devices stay" "$(alike cuda):$(alike order)" "0,1,2,3:"
  t_is "$name: is said once" "$(times_said 'n1: binding is left to Slurm: ')" 1
  t_holds "$name: with the reason" "$said" "$words"
}

test_broken() {
  local keep=/run/dtrain/keep.xml put="install -m 644 /run/dtrain/keep.xml /run/dtrain/topology.xml"
  lab_node n1 cp /run/dtrain/topology.xml $keep
  broken "garbage" "/run/dtrain/topology.xml" "echo garbage >/run/dtrain/topology.xml"
  broken "empty" "/run/dtrain/topology.xml" ": >/run/dtrain/topology.xml"
  broken "cut off" "/run/dtrain/topology.xml" "head -c 3000 $keep >/run/dtrain/topology.xml"
  broken "huge" "/run/dtrain/topology.xml" "truncate -s 1G /run/dtrain/topology.xml"
  broken "a FIFO" "/run/dtrain/topology.xml" "mkfifo -m 644 /run/dtrain/topology.xml"
  broken "a device" "/run/dtrain/topology.xml" "mknod -m 644 /run/dtrain/topology.xml c 1 5"
  broken "a link" "/run/dtrain/topology.xml" "ln -s $keep /run/dtrain/topology.xml"
  broken "writable by all" "nobody else can write it" "install -m 666 $keep /run/dtrain/topology.xml"
  broken "a user's" "expected root's" "install -m 644 -o 12345 $keep /run/dtrain/topology.xml"
  broken "another machine's, without GPUs" "shows no such GPU" \
    "sed 's/10de:1eb8/1a03:2000/; s/ 0302 / 0300 /; s/\"0302 /\"0300 /' $keep >/run/dtrain/topology.xml"
  lab_node n1 bash -c "$put"
  ran "the file in order again" -w n1 -N1 -n4 --gres=gpu:4 --dtrain-tp=2
  t_is "the file in order again: is read" "$(alike cuda)" "0,3,1,2"
  printf '%s topology=/run/dtrain/keep.xml\n' "$plugstack" >"$DT_PLUGSTACK"
  ran "topology=FILE" -w n1 -N1 -n4 --gres=gpu:4 --dtrain-tp=2
  t_is "topology=FILE: is read" "$(alike cuda)" "0,3,1,2"
  printf '%s topology=/run/dtrain/none.xml\n' "$plugstack" >"$DT_PLUGSTACK"
  ran "topology=FILE that is missing" -w n1 -N1 -n4 --gres=gpu:4 --dtrain-tp=2
  t_is "topology=FILE that is missing: is said once" "$(times_said 'n1: binding is left to Slurm: /run/dtrain/none.xml')" 1
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
  t_ok "no node is drained by a file" lab_nodes_are_well
}

# ---- This machine's CPUs: affinity and memory policy as the kernel has them ----

test_affinity() {
  if [ "$(nproc --all)" -lt 2 ]; then
    t_skip "CPU affinity" "this machine has one CPU"
    return
  fi
  ran "CPUs of the GPUs' NUMA nodes" -N1 -n2 -O -w n1 --gres=gpu:8 --dtrain-pp=2 --dtrain-bind=verbose
  t_is "CPUs of the GPUs' NUMA nodes: inside" "$(alike cpus)" 0
  t_is "memory of the GPUs' NUMA node" "$(alike mem)" "prefer:0"
  through=(salloc -Q -N1 -n2 --gres=gpu:8)
  ran "GPUs on both NUMA nodes" -n8 -O --gres=gpu:8 --dtrain-tp=2
  through=()
  t_is "GPUs on both NUMA nodes: each its cores" "$(fact cpus)" "0 0 0 0 1 1 1 1"
  ran "1 CPU a task" -N1 -n1 -c1 --gres=gpu:1 --dtrain=on
  t_is "1 CPU a task: it" "$(fact cpus)" 0
  ran "--cpu-bind=none" -N1 -n2 --gres=gpu:2 --cpu-bind=none --dtrain-tp=2 --dtrain-bind=verbose
  t_is "--cpu-bind=none: wins" "$(alike cpus)" "0-1"
  t_is "--cpu-bind=none: is said by each task" "$(times_said 'cpu-bind wins')" 2
  ran "--cpu-bind=map_cpu" -N1 -n2 --gres=gpu:2 --cpu-bind=map_cpu:1,0 --dtrain-tp=2
  t_is "--cpu-bind=map_cpu: wins" "$(fact cpus)" "1 0"
  said=$(lab_run env SLURM_CPU_BIND=map_cpu:1,0 srun -N1 -n2 --gres=gpu:2 --dtrain-tp=2 "$who" 2>&1)
  lines=$(grep '^rank=' <<<"$said" | sort -V)
  t_is "SLURM_CPU_BIND: wins" "$(fact cpus)" "1 0"
  ran "--mem-bind=local" -N1 -n1 --gres=gpu:1 --mem-bind=local --dtrain=on
  t_is "--mem-bind=local: wins" "$(fact mem)" "bind:0"
  ran "GPUs only" -N1 -n2 --gres=gpu:2 --dtrain-tp=2 --dtrain-bind=gpu
  t_is "GPUs only: Slurm's CPUs" "$(fact cpus):$(alike mem)" "0 1:default"
  lab_node n1 rm /run/dtrain/topology.xml
  ran "this machine's own topology" -w n1 -N1 -n2 --dtrain-tp=2
  t_is "this machine's own topology: a core each" "$(fact cpus)" "0 1"
  t_is "this machine's own topology: in silence" "$(times_said 'dtrain')" 0
  t_ok "no node is drained by binding" lab_nodes_are_well
}

# ---- Device cgroups: numbers that count from 0 ----

test_cgroup() {
  ran "a cgroup of 4" -w n1 -N1 -n2 --gres=gpu:4 --dtrain-tp=2
  t_is "a cgroup of 4: the pair first" "$(alike cuda)" "0,3,1,2"
  hold 2
  ran "a cgroup of the other 6" -w n1 -N1 -n1 --gres=gpu:6 --dtrain=on
  t_is "a cgroup of the other 6: counted from 0" "$(alike cuda):$(alike step)" "0,1,2,3,4,5:2,3,4,5,6,7"
  through=(salloc -Q -w n1 -N1 -n1 --gres=gpu:6)
  ran "a cgroup of the other 6, in pairs" -n4 -O --gres=gpu:6 --dtrain-tp=2
  through=()
  t_is "a cgroup of the other 6, in pairs: by place among the 6" "$(alike cuda)" "2,5,3,4,0,1"
  said=$(lab_run srun -w n1 -N1 -n1 --gres=gpu:6 --dtrain=on bash -c \
    'for i in 0 7; do head -c 1 /run/dtrain/dev/nvidia$i 2>&1; done')
  t_holds "a cgroup of the other 6: the first's devices are shut" "$said" "nvidia0' for reading: Operation not permitted"
  t_holds "a cgroup of the other 6: its own are open" "$said" "nvidia7' for reading: No such device"
  unhold
  ran "--gpus-per-task in a cgroup" -w n1 -N1 -n2 --gpus-per-task=1 --dtrain-tp=2
  t_is "--gpus-per-task in a cgroup: stays" "$(fact cuda)" "0 0"
  t_is "--gpus-per-task in a cgroup: is said once" "$(times_said 'use --gpus-per-node=2 or --gres=gpu:2')" 1
  t_ok "no node is drained in cgroups" lab_nodes_are_well
}

up 8 --nodes 2
test_gpus
test_two_jobs
test_isolated
test_choices
test_inherited
test_broken
up 1 --nodes 1 --affinity
test_affinity
if [ -d /sys/fs/cgroup/devices ]; then
  up 1 --nodes 1 --cgroup
  test_cgroup
else
  t_skip "device cgroups" "this machine has no cgroup v1 controllers"
fi
t_done
