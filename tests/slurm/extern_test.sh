#!/bin/bash
# The extern step, which a controller with PrologFlags=Contain makes on every node of a job: nothing is injected into it,
# and dtrain's steps run beside it. On a lab of its own.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

DT_LAB=$DT_LAB-extern
conf=$(mktemp)
printf 'PrologFlags=Alloc,Contain\n' >"$conf"
trap '"$DT_SRCDIR/lab/lab" down --name "$DT_LAB" >/dev/null; rm -f "$conf"' EXIT

t_ok "a lab with extern steps" "$DT_SRCDIR/lab/lab" up --name "$DT_LAB" --nodes 2 --slurm-conf "$conf"
plugin=$("$DT_SRCDIR/lab/lab" status --name "$DT_LAB" | sed -n 's/^dir: //p')/spank_dtrain.so
cp "$DT_PLUGIN" "$plugin"
printf 'required %s\n' "$plugin" >"$("$DT_SRCDIR/lab/lab" status --name "$DT_LAB" | sed -n 's/^plugstack.conf: //p')"

# The option given to salloc reaches the extern step's slurmstepd, too.
lab_expect 0 "RANK=3 WORLD_SIZE=4 extern=1" "a dtrain step beside extern steps" \
  salloc -Q -N2 --ntasks-per-node=2 --dtrain-tp=2 bash -c \
  'extern=$(scontrol show step "$SLURM_JOB_ID" | grep -c "StepId=$SLURM_JOB_ID.extern")
   srun bash -c "echo RANK=\$RANK WORLD_SIZE=\$WORLD_SIZE extern=$extern"'

# The environment of an extern step's slurmstepd and of what it runs, behind a line "extern step".
extern_environment() {
  lab_node n1 bash -c 'for pid in /proc/[0-9]*; do
    case $(tr "\0" " " <"$pid/cmdline" 2>/dev/null) in "slurmstepd: ["*.extern*) ;; *) continue ;; esac
    echo "extern step"
    for p in ${pid#/proc/} $(pgrep -P "${pid#/proc/}"); do tr "\0" "\n" <"/proc/$p/environ"; done
  done'
}

extern_is_untouched() {
  local out job
  lab_run salloc -Q -N1 --ntasks-per-node=2 --dtrain-tp=2 sleep 3 &
  job=$!
  sleep 1
  out=$(extern_environment)
  wait "$job"
  t_contains "$out" "extern step" && ! grep -E '^(RANK|DTRAIN_|SLURM_DTRAIN_PLAN|MASTER_ADDR)' <<<"$out"
}
t_ok "nothing of ours is in an extern step" extern_is_untouched
t_ok "no node is drained or down" lab_nodes_are_well
t_done
