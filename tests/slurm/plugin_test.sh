#!/bin/bash
# The plugin on a real cluster: who is which rank under every way to lay out a step, what is refused, what is
# never touched, and that nothing drains a node.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has
work=$DT_PROGRAMS/plugin-test
fault=$DT_BUILDDIR/.libs/spank_fault.so
plugstack=$(cat "$DT_PLUGSTACK")
rm -rf "$work"
mkdir -p "$work"
chmod 1777 "$work"
cp "$fault" "$work/"

# What a task knows, one line.
cat >"$work/who" <<'END'
#!/bin/bash
address=$(getent ahostsv4 "$SLURMD_NODENAME" | head -n 1)
echo "rank=${RANK-} world=${WORLD_SIZE-} local=${LOCAL_RANK-} lworld=${LOCAL_WORLD_SIZE-}" \
  "group=${GROUP_RANK-} procid=$SLURM_PROCID localid=$SLURM_LOCALID nodeid=$SLURM_NODEID" \
  "node=$SLURMD_NODENAME address=${address%% *} tp=${DTRAIN_TP_RANK-}/${DTRAIN_TP_SIZE-}" \
  "pp=${DTRAIN_PP_RANK-}/${DTRAIN_PP_SIZE-} dp=${DTRAIN_DP_RANK-}/${DTRAIN_DP_SIZE-}" \
  "master=${MASTER_ADDR-} port=${MASTER_PORT-} pmix=${PMIX_RANK-} cuda=${CUDA_VISIBLE_DEVICES-} home=${HOME-}"
END
chmod 755 "$work/who"
who=$work/who

# Lines of `who` on stdin: a world of $1 ranks, node by node, as Slurm's own facts have it.
is_well_laid() {
  awk -v want="$1" '
    { delete f; for (i = 1; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] }
      if (f["rank"] == "") { print "no rank: " $0; bad = 1; next }
      if (seen[f["rank"]]++) { print "rank twice: " $0; bad = 1 }
      if (f["world"] != want || f["rank"] >= want) { print "world: " $0; bad = 1 }
      if (f["local"] != f["localid"] || f["group"] != f["nodeid"]) { print "place: " $0; bad = 1 }
      if (f["pmix"] != f["procid"]) { print "PMIx: " $0; bad = 1 }
      first = f["rank"] - f["local"]
      if (f["node"] in start && start[f["node"]] != first) { print "not node by node: " $0; bad = 1 }
      start[f["node"]] = first; tasks[f["node"]]++; lworld[f["node"]] = f["lworld"]
      master[f["master"]]; port[f["port"]]; if (f["rank"] == 0) address = f["address"]
      n++ }
    END { for (node in tasks) if (tasks[node] != lworld[node]) { print "tasks of " node; bad = 1 }
      if (n != want || length(master) != 1 || length(port) != 1 || !(address in master)) {
        print "lines " n ", address of rank 0 " address; bad = 1 }
      exit bad }'
}

# laid WORLD NAME srun-arguments…: such a step runs and its ranks are right. Leaves its lines in $lines.
laid() {
  local world=$1 name=$2
  shift 2
  lines=$(lab_run timeout 60 srun "$@" "$who" 2>"$work/err" | rank_lines)
  t_ok "$name" is_well_laid "$world" <<<"$lines" || cat "$work/err"
}

# Of what a step and its srun wrote, the lines of `who` in order; srun also says when it has to wait.
rank_lines() { grep '^rank=' | sort -V; }

# t_ok runs its command with our stdin; `facts KEY…` shortens lines to some of their fields.
facts() {
  awk -v keys="$*" '{ n = split(keys, k, " "); line = ""
    for (i = 1; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] }
    for (i = 1; i <= n; i++) line = line (i > 1 ? ":" : "") f[k[i]]
    printf "%s%s", (NR > 1 ? " " : ""), line }' <<<"$lines"
}

# refused NAME WORDS STATUS srun-arguments…: ends so, with these words, and nothing started.
refused() {
  local name=$1 words=$2 status=$3
  shift 3
  rm -f "$work/started"
  lab_expect "$status" "$words" "refused: $name" srun "$@" touch "$work/started"
  t_ok "refused: $name: nothing started" test ! -e "$work/started"
}

# script NAME sbatch-arguments… <script: runs it to its end; its output is in $out.
script() {
  local name=$1
  shift
  cat >"$work/$name.sh"
  rm -f "$work/$name.out"
  lab_run timeout 100 sbatch -W -o "$work/$name.out" "$@" "$work/$name.sh" >"$work/$name.sbatch" 2>&1
  out=$(cat "$work/$name.out" 2>/dev/null)
}

# How many of the variables that a dtrain step gets stand in the text $1, lines of env; a pattern more in $2.
count_injected() {
  grep -cE "^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|DTRAIN_[A-Z_]*|SLURM_DTRAIN_PLAN|PMIX_RANK${2:+|$2})=" <<<"$1"
}

# ---- Requeued jobs take a while: started first, looked at last ----

start_requeue() {
  cat >"$work/requeue.sh" <<END
#!/bin/bash
srun -n1 --dtrain=on $who | sed "s/^/restart=\${SLURM_RESTART_COUNT:-0} /" >>$work/requeue.out
[ -n "\$SLURM_RESTART_COUNT" ] || { scontrol requeue \$SLURM_JOB_ID; sleep 30; }
END
  lab_run sbatch --requeue -N1 -n1 -w n4 -o /dev/null "$work/requeue.sh" >/dev/null
}

test_requeue() {
  local end=$((SECONDS + 60))
  until grep -q restart=1 "$work/requeue.out" 2>/dev/null || ((SECONDS > end)); do sleep 0.5; done
  t_is "a requeued job: a rank each time" "$(grep -c 'rank=0 world=1' "$work/requeue.out")" 2
  t_is "a requeued job: another port" "$(grep -o 'port=[0-9]*' "$work/requeue.out" | sort -u | wc -l)" 2
}

# ---- Layouts ----

test_layouts() {
  laid 4 "block" -N2 --ntasks-per-node=2 -m block --dtrain-tp=2
  t_is "block: ranks are Slurm's" "$(facts rank procid node tp)" "0:0:n1:0/2 1:1:n1:1/2 2:2:n2:0/2 3:3:n2:1/2"
  laid 4 "cyclic" -N2 --ntasks-per-node=2 -m cyclic --dtrain-tp=2
  t_is "cyclic: ranks go node by node" "$(facts rank procid node dp)" "0:0:n1:0/2 1:2:n1:0/2 2:1:n2:1/2 3:3:n2:1/2"
  t_holds "cyclic: and it is said, once" "$(grep -c 'RANK differs from SLURM_PROCID' "$work/err")" 1
  laid 8 "plane" -N2 --ntasks-per-node=4 -m plane=2 --dtrain-tp=4 --dtrain-pp=2
  t_is "plane: ranks" "$(facts rank procid pp)" "0:0:0/2 1:1:0/2 2:4:0/2 3:5:0/2 4:2:1/2 5:3:1/2 6:6:1/2 7:7:1/2"
  printf '%s\n' n2 n1 n2 n1 >"$work/hosts"
  chmod 644 "$work/hosts"
  lines=$(lab_run env "SLURM_HOSTFILE=$work/hosts" srun -N2 -n4 -m arbitrary --dtrain-tp=2 "$who" 2>/dev/null | rank_lines)
  t_ok "arbitrary" is_well_laid 4 <<<"$lines"
  laid 2 "-w in another order" -N2 -n2 -w n3,n2 --dtrain-pp=2
  laid 4 "a node left out" -N2 -n4 --ntasks-per-node=2 -x n1,n2 --dtrain-tp=2
  t_is "a node left out: on the others" "$(facts node)" "n3 n3 n4 n4"
  laid 8 "uneven nodes" -N4 -n8 --dtrain=on
  refused "uneven nodes that split a group" "cannot hold groups of tp=2" 1 -N4 -n8 --dtrain-tp=2
  laid 32 "4 nodes of 8" -N4 --ntasks-per-node=8 --dtrain-tp=8 --dtrain-pp=2
  t_is "4 nodes of 8: the last" "$(facts rank tp pp dp | tr ' ' '\n' | tail -n 1)" "31:7/8:1/2:1/2"
}

test_subsets() {
  lines=$(lab_run salloc -Q -N4 --ntasks-per-node=2 srun -N2 --relative=2 -n4 --dtrain-tp=2 "$who" 2>&1 | rank_lines)
  t_ok "a subset of an allocation" is_well_laid 4 <<<"$lines"
  t_is "a subset of an allocation: its nodes" "$(facts node)" "n3 n3 n4 n4"
  lines=$(lab_run salloc -Q -N2 -n4 srun -E -N1 -n2 --dtrain-tp=2 "$who" 2>&1 | rank_lines)
  t_ok "-E, which leaves the job's SLURM_NTASKS in the step" is_well_laid 2 <<<"$lines"
  laid 4 "--export=NONE" -N2 --ntasks-per-node=2 --export=NONE --dtrain-tp=2
  # shellcheck disable=SC2016  # expanded in the task
  lines=$(lab_run env OF_USER=1 srun -n1 --export=NONE --dtrain=on /bin/bash -c 'echo "rank=$RANK mine=$OF_USER"' 2>/dev/null)
  t_is "--export=NONE: without the user's variables" "$lines" "rank=0 mine="
  laid 4 "--export of some" -N2 --ntasks-per-node=2 --export=PATH --dtrain-tp=2
}

# ---- Options ----

test_options() {
  laid 2 "a prefix" -n2 --dtrain-p=2
  t_is "a prefix: is understood" "$(facts pp)" "0/2 1/2"
  laid 2 "a value in the next word" -n 2 --dtrain-tp 2 -J name
  lab_expect 0 "rank= world= " "an option behind the program is the program's" srun -n1 "$who" --dtrain-tp=1
  t_holds "and no PMIx comes" "$lab_out" "pmix= "
  lab_expect 0 "rank= world= " "off" srun -n3 --dtrain-tp=2 --dtrain=off "$who"
  t_holds "off: no PMIx" "$lab_out" "pmix= "
  lab_expect 0 "pmix= " "the user's --mpi wins" srun -n1 --mpi=none --dtrain=on "$who"
  t_holds "the user's --mpi wins: ranks are there" "$lab_out" "rank=0 world=1"
  lab_expect 0 "pmix= " "the user's SLURM_MPI_TYPE wins" env SLURM_MPI_TYPE=none srun -n1 --dtrain=on "$who"
  lab_expect 0 "master=192.0.2.7 port=7777" "the user's MASTER_ADDR and MASTER_PORT stay" \
    env MASTER_ADDR=192.0.2.7 MASTER_PORT=7777 srun -n1 --dtrain=on "$who"
  lab_expect 0 "rank=0 world=1" "stale ranks do not" env RANK=7 WORLD_SIZE=9 srun -n1 --dtrain=on "$who"
  lab_expect 0 "2 ranks on 1 node," "--dtrain-report" srun -n2 --dtrain-tp=2 --dtrain-report true
  lab_out=$(lab_run srun -n2 --dtrain-tp=2 --dtrain-report=json true 2>&1 >/dev/null | sed -n '/^{/,/}$/p')
  t_ok "--dtrain-report=json is JSON" python3 -c 'import json,sys; assert json.loads(sys.argv[1])["world"] == 2' "$lab_out"
  lab_expect 0 "--dtrain-tp=N" "srun --help has them" srun --help
}

test_refusals() {
  refused "sizes that do not divide" "3 tasks cannot be divided" 1 -n3 --dtrain-tp=2
  refused "a dp that disagrees" "dp=" 1 -n4 --dtrain-tp=2 --dtrain-dp=4
  refused "a tensor-parallel group over nodes" "--dtrain-tp-span=any" 1 -N2 --ntasks-per-node=2 --dtrain-tp=4
  refused "fewer GPUs than tasks" "4 tasks on n1 are more than the 2 GPUs" 1 -N1 -n4 -w n1 --gres=gpu:2 --dtrain-tp=4
  refused "fewer GPUs than tasks, asked for the whole" "are more than the 3 GPUs" 1 -N1 -n4 --gpus=3 --dtrain-tp=4
  refused "zero" "--dtrain-tp: '0' is too small" 255 -n2 --dtrain-tp=0
  refused "a negative value" "--dtrain-tp: '-2'" 255 -n2 --dtrain-tp=-2
  refused "an empty value" "--dtrain-pp" 255 -n2 --dtrain-pp=
  refused "a huge value" "--dtrain-pp: '99999999999999999999'" 255 -n2 --dtrain-pp=99999999999999999999
  refused "a size over the world" "1 task is too few" 1 -n1 --dtrain-pp=16777216
  refused "garbage" "--dtrain-order" 255 -n2 --dtrain-order=tp-qp
  refused "garbage for a word" "--dtrain-backend: 'mpi'" 255 -n2 --dtrain-backend=mpi
  laid 4 "groups over nodes where they may" -N2 --ntasks-per-node=2 --dtrain-tp=4 --dtrain-tp-span=any
  laid 4 "more tasks than GPUs for the host backend" -N1 -n4 --gres=gpu:2 --dtrain-tp=4 --dtrain-backend=host
  printf '#!/bin/bash\ntrue\n' >"$work/true.sh"
  lab_expect 255 "--dtrain-tp: '0' is too small" "sbatch refuses at once" sbatch -o /dev/null --dtrain-tp=0 "$work/true.sh"
  lab_expect 255 "--dtrain-tp: 'x'" "salloc refuses at once" salloc -n1 --dtrain-tp=x true
}

# ---- Jobs ----

test_batch() {
  script inherit --dtrain-tp=2 -N1 -n4 <<END
#!/bin/bash
env | sed 's/^/batch: /'
srun -n4 $who | sed 's/^/first: /'
srun -n4 --dtrain-tp=4 $who | sed 's/^/second: /'
srun -n1 --dtrain=off $who 2>&1 | sed 's/^/helper: /'
srun -n1 $who 2>&1 | sed 's/^/refused: /'
END
  t_is "batch script: nothing is injected" "$(count_injected "$(sed -n 's/^batch: //p' <<<"$out")" SLURM_MPI_TYPE)" 0
  lines=$(sed -n 's/^first: //p' <<<"$out" | rank_lines)
  t_ok "batch script: its srun inherits" is_well_laid 4 <<<"$lines"
  t_is "batch script: the size" "$(facts tp)" "0/2 1/2 0/2 1/2"
  lines=$(sed -n 's/^second: //p' <<<"$out" | rank_lines)
  t_ok "batch script: an option of srun's own" is_well_laid 4 <<<"$lines"
  t_is "batch script: wins" "$(facts tp)" "0/4 1/4 2/4 3/4"
  t_holds "batch script: a helper that is off" "$out" "helper: rank= world= "
  t_holds "batch script: a helper that is not is refused with a hint" "$out" "; for a helper step use srun --dtrain=off"
  script directive <<END
#!/bin/bash
#SBATCH --dtrain-pp=2 -n2
srun $who
END
  lines=$(rank_lines <<<"$out")
  t_ok "#SBATCH lines" is_well_laid 2 <<<"$lines"
  script array --array=0-1 -n2 --dtrain-tp=2 -o "$work/array.%a" <<END
#!/bin/bash
srun $who
END
  for i in 0 1; do
    lines=$(rank_lines <"$work/array.$i")
    t_ok "array task $i" is_well_laid 2 <<<"$lines"
  done
  t_is "array tasks: a port each" "$(cat "$work"/array.[01] | grep -o 'port=[0-9]*' | sort -u | wc -l)" 2
}

test_salloc() {
  lines=$(lab_run salloc -Q -n2 --dtrain-tp=2 srun "$who" 2>&1 | rank_lines)
  t_ok "salloc: its srun inherits" is_well_laid 2 <<<"$lines"
  out=$(printf 'env; srun -n2 %s\nexit\n' "$who" | lab_run timeout 60 salloc -Q -n2 --dtrain-tp=2 2>&1 | tr -d '\r')
  t_holds "interactive shell: it ran" "$out" "SLURM_STEP_ID=4294967290"
  t_is "interactive shell: nothing is injected" "$(count_injected "$out")" 0
  lines=$(rank_lines <<<"$out")
  t_ok "interactive shell: its srun inherits" is_well_laid 2 <<<"$lines"
  lines=$(lab_run salloc -Q -n4 bash -c "for i in 1 2 3; do srun --overlap -n2 --dtrain-tp=2 $who & done; wait" 2>&1)
  t_is "several steps at once: a port each" "$(grep -o 'port=[0-9]*' <<<"$lines" | sort -u | wc -l)" 3
}

test_nested() {
  local inner="srun --overlap -n1 env; echo ==; srun --overlap -n2 --dtrain-pp=2 $who"
  out=$(lab_run srun -n2 --dtrain-tp=2 bash -c "[ \$RANK = 1 ] || exit 0; $inner" 2>&1)
  t_is "a step inside a step: the outer variables are gone" \
    "$(count_injected "$(sed '/^==/,$d' <<<"$out")" SLURM_MPI_TYPE)" 0
  t_holds "a step inside a step: it ran" "$out" "SLURM_PROCID=0"
  lines=$(sed '1,/^==/d' <<<"$out" | rank_lines)
  t_ok "a dtrain step inside one has its own" is_well_laid 2 <<<"$lines"
}

test_het() {
  lab_expect 1 "a heterogeneous step of several components" "a step of several components is refused" \
    srun -n1 --dtrain=on "$who" : -n1 "$who"
  lines=$(lab_run timeout 60 salloc -Q -N1 -n2 : -N1 -n2 srun --het-group=1 -n2 --dtrain-tp=2 "$who" 2>&1 | rank_lines)
  t_ok "a step in one component" is_well_laid 2 <<<"$lines"
  lab_expect 1 "a heterogeneous step of several components" "several groups are refused" \
    salloc -Q -N1 -n2 : -N1 -n2 srun --het-group=0,1 --dtrain-tp=2 "$who"
}

# ---- GPUs ----

test_gpus() {
  laid 8 "8 GPUs" -N1 -n8 --gres=gpu:8 --dtrain-tp=8
  t_is "8 GPUs: the same list for all" "$(facts cuda | tr ' ' '\n' | sort -u)" "0,1,2,3,4,5,6,7"
  lab_run srun -w n1 -N1 -n1 --gres=gpu:2 sleep 6 &
  sleep 1
  laid 2 "part of a node" -w n1 -N1 -n2 --gres=gpu:2 --dtrain-tp=2
  t_is "part of a node: inside what Slurm gave" "$(facts cuda)" "2,3 2,3"
  laid 2 "isolated GPUs" -N1 -n2 --gpus-per-task=1 --dtrain-tp=2
  t_is "isolated GPUs: said once" "$(grep -c 'each task has 1 of the 2 GPUs of its node' "$work/err")" 1
  t_holds "isolated GPUs: with the flag" "$(cat "$work/err")" "use --gpus-per-node=2 or --gres=gpu:2"
  t_is "isolated GPUs: left alone" "$(facts cuda | tr ' ' '\n' | sort -u | wc -l)" 2
  lab_expect 1 "4 tasks on n" "GPUs that only the node knows" \
    srun -w n2,n3 -N2 --ntasks-per-node=4 --gpus=7 --dtrain-tp=4 "$who"
  t_holds "GPUs that only the node knows: the flag" "$lab_out" "--gpus-per-node=4"
  wait
}

# ---- Not touched ----

# The environment of a plain step, without what differs from job to job.
plain_environment() {
  rm -f "$work"/env.*
  lab_run srun -w n1,n2 -N2 -n2 bash -c "env -0 >$work/env.\$SLURM_PROCID"
  cat "$work/env.0" "$work/env.1" | tr '\0' '\n' |
    sed -E 's/^(SLURM_(JOB_ID|JOBID|TASK_PID|SRUN_COMM_PORT|STEP_LAUNCHER_PORT|JOB_START_TIME|JOB_END_TIME))=.*/\1=/' |
    sort
}

test_untouched() {
  local with without
  with=$(plain_environment)
  : >"$DT_PLUGSTACK"
  without=$(plain_environment)
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
  t_holds "a plain step has an environment" "$with" "SLURM_PROCID=1"
  t_is "and the same as without the plugin" "$(diff <(printf '%s\n' "$with") <(printf '%s\n' "$without"))" ""
}

# ---- Faults ----

# faulty NAME STATUS WORDS 'ARGUMENTS OF THE FAULT' srun-arguments…: the step ends so, and no node is drained.
faulty() {
  local name=$1 status=$2 words=$3 arguments=$4
  shift 4
  printf 'required %s/spank_fault.so %s\n%s\n' "$work" "$arguments" "$plugstack" >"$DT_PLUGSTACK"
  rm -f "$work/started"
  lab_expect "$status" "$words" "fault: $name" srun "$@"
  t_ok "fault: $name: no node is drained" lab_nodes_are_well
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
}

test_faults() {
  local step=(-N2 --ntasks-per-node=2 --dtrain-tp=2 touch "$work/started")
  local head='1;tp=2;cp=1;ep=1;dp=2;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=auto'
  local tail='addr=10.0.0.1;port=20000'
  local other=${head//tp=2/tp=1}
  faulty "garbage" 1 "SLURM_DTRAIN_PLAN" "plan=garbage" "${step[@]}"
  t_ok "fault: garbage: no task started" test ! -e "$work/started"
  faulty "no plan" 1 "SLURM_DTRAIN_PLAN did not arrive with the step" "plan=missing" "${step[@]}"
  t_ok "fault: no plan: no task started" test ! -e "$work/started"
  faulty "an empty plan" 1 "SLURM_DTRAIN_PLAN" "plan=" "${step[@]}"
  faulty "a huge plan" 1 "SLURM_DTRAIN_PLAN" "plan=huge" "${step[@]}"
  faulty "another step's nodes" 1 "runs on n1, the plan says n8" \
    "plan=$head;nodes=n[8-9];tasks=2(x2);procids=0+4:1;$tail" "${step[@]}"
  faulty "another step's number of nodes" 1 "number of nodes 1, Slurm says 2" \
    "plan=${head/dp=2/dp=1};nodes=n1;tasks=2;procids=0+2:1;$tail" "${step[@]}"
  faulty "another step's sizes" 1 "--dtrain-tp=2" \
    "plan=${other/dp=2/dp=4};nodes=n[1-2];tasks=2(x2);procids=0+4:1;$tail" "${step[@]}"
  faulty "one node only" 1 "SLURM_DTRAIN_PLAN did not arrive" "nodes=n2 plan=missing" "${step[@]}"
  faulty "another plugin has our option" 0 "provided by both" "option=dtrain-tp" -n1 true
  faulty "an option of another plugin, which may take the next word" 0 "PMIx was not chosen" "option=foo" \
    -n1 --foo 3 --dtrain=on true
  faulty "a plain step with a plan" 0 "rank= world= " "plan=$head;nodes=n1;tasks=4;procids=0+4:1;$tail" -n1 "$who"
  lab_expect 0 "rank=0 world=4" "a plan from --export is overwritten" \
    srun -N2 --ntasks-per-node=2 --dtrain-tp=2 --export=ALL,SLURM_DTRAIN_PLAN=x "$who"
  lab_expect 0 "rank= world= " "a plan without an option" env SLURM_DTRAIN_PLAN=x srun -n1 "$who"
  t_ok "plans of the user's own drain no node" lab_nodes_are_well
}

test_conf() {
  printf 'port_min = 31000\nport_max = 31000\nmpi = none\ntp_span = any\n' >"$work/dtrain.conf"
  printf '%s conf=%s/dtrain.conf\n' "$plugstack" "$work" >"$DT_PLUGSTACK"
  lab_expect 0 "port=31000 pmix= " "dtrain.conf is heard" srun -N2 --ntasks-per-node=1 --dtrain-tp=2 "$who"
  printf 'port_min = 31000\nport_mix = 1\n' >"$work/dtrain.conf"
  lab_expect 1 "dtrain.conf:2: " "a mistake in it refuses" srun -n1 --dtrain=on "$who"
  lab_expect 0 "rank= world= " "but not a plain step" srun -n1 "$who"
  printf '%s config=/x\n' "$plugstack" >"$DT_PLUGSTACK"
  lab_expect 1 "argument 'config=/x' is not known" "so does an argument that is none" srun -n1 --dtrain=on "$who"
  lab_expect 0 "rank= world= " "but not for a plain step" srun -n1 "$who"
  printf '%s\n' "$plugstack" >"$DT_PLUGSTACK"
  t_ok "no node is drained by it" lab_nodes_are_well
}

start_requeue
test_layouts
test_subsets
test_options
test_refusals
test_batch
test_salloc
test_nested
test_het
test_gpus
test_untouched
test_faults
test_conf
test_requeue
t_ok "all nodes are well at the end" lab_nodes_are_well
rm -rf "$work"
t_done
