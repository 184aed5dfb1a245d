#!/bin/bash
# The library on a real cluster: worlds come up, whoever is missing or differs is named to everyone, a death
# is known to all, and what cannot work says why.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has
work=$DT_PROGRAMS/runtime-test
hello=$DT_PROGRAMS/hello
rm -rf "$work"
mkdir -p "$work"
chmod 1777 "$work"

step=(srun -N4 --ntasks-per-node=4 --kill-on-bad-exit=0 --dtrain-tp=4 --dtrain-pp=2 --dtrain-backend=host)

# A program for the tasks: script NAME, its text on stdin.
script() {
  { echo '#!/bin/bash'; cat; } >"$work/$1"
  chmod 755 "$work/$1"
}

# said N WORDS: N of the lines in $lab_out hold the words.
said() {
  t_same "$(grep -cF -- "$2" <<<"$lab_out")" "$1" || { printf '%s\n' "$lab_out"; return 1; }
}

# said_by N WORDS MORE: N of the lines in $lab_out hold both.
said_by() {
  t_same "$(grep -F -- "$2" <<<"$lab_out" | grep -cF -- "$3")" "$1" || { printf '%s\n' "$lab_out"; return 1; }
}

t_ok "the library lies where the tasks look" test -x "$hello"

# ---- Up --------------------------------------------------------------------------------

lab_expect 0 "rank 5 of 16 on n2 (node 1 of 4, local rank 1 of 4, host): tp=1/4(4,5,6,7) cp=0/1(5) dp=1/2(1,5) pp=0/2(5,13)" \
  "4 nodes x 4 tasks: groups" "${step[@]}" "$hello"
t_ok "all 16 ranks say hello" said 16 " of 16 on n"
lab_expect 0 "; 1 put, 1 commit, 1 fence" "the way up is logged" env DTRAIN_LOG=info "${step[@]}" "$hello"
t_ok "by rank 0 alone" said 1 "dtrain: up in "
lab_expect 0 "rank 1 of 16 on n1" "tasks laid out in turn" "${step[@]}" --distribution=cyclic "$hello"
t_ok "all 16 ranks say hello again" said 16 " of 16 on n"
lab_expect 0 "rank 0 of 1 on n" "one task without a plan is a world of one" srun -N1 -n1 "$hello"
lab_expect 0 "rank 0 of 1 on n" "one task with a plan is one, too" srun -N1 -n1 --dtrain-tp=1 --dtrain-backend=host "$hello"

# ---- Missing and different ranks -----------------------------------------------------------

script without5 <<END
[ "\$SLURM_PROCID" = 5 ] && exit 0
exec "$hello"
END
export DTRAIN_INIT_TIMEOUT=4
lab_expect 1 "rank 5 (task 5) on n2 did not come within 4 s" "a task that ends before dtrain_init" "${step[@]}" "$work/without5"
t_ok "is named to all others" said 15 "hello: rank 5 (task 5) on n2 did not come within 4 s"

script without0and9 <<END
[ "\$SLURM_PROCID" = 0 ] || [ "\$SLURM_PROCID" = 9 ] && exit 0
exec "$hello"
END
lab_expect 1 "did not come" "two tasks that end before dtrain_init" "${step[@]}" "$work/without0and9"
t_ok "are named to all others" said 14 "rank 0 (task 0) on n1, rank 9 (task 9) on n3 did not come within 4 s"

script other_tp <<END
if [ "\$SLURM_PROCID" = 6 ]; then
  plan=\${SLURM_DTRAIN_PLAN/tp=4;cp=1;ep=1;dp=2/tp=2;cp=1;ep=1;dp=4}
  export SLURM_DTRAIN_PLAN=\${plan/etp=4/etp=2}
fi
exec "$hello"
END
unset DTRAIN_INIT_TIMEOUT
lab_expect 1 "started with tp=2" "a task with other sizes" "${step[@]}" "$work/other_tp"
t_ok "is named to all" said 16 "rank 6 on n2 was started with tp=2 pp=2 dp=4 order=tp-cp-ep-dp-pp, rank 0 with tp=4 pp=2 dp=2"

script other_size <<END
[ "\$SLURM_PROCID" = 6 ] && export SLURM_DTRAIN_PLAN='1;tp=2;cp=1;ep=1;dp=1;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=host;nodes=n1;tasks=2;procids=0+2:1;addr=127.0.0.1;port=0'
exec "$hello"
END
lab_expect 1 "the plan has 2 ranks" "a task with another step's plan" "${step[@]}" "$work/other_size"
t_ok "is told to all" said 16 "task 6: the plan has 2 ranks, PMIx says that this step has 16 tasks"

script other_rank <<END
[ "\$SLURM_PROCID" = 6 ] && export RANK=3
exec "$hello"
END
lab_expect 1 "RANK=3 in the environment" "a task with a stale RANK" "${step[@]}" "$work/other_rank"
t_ok "is told to all, too" said 16 "rank 6 (task 6): RANK=3 in the environment, the plan says 6"

script other_ifname <<END
[ "\$SLURM_PROCID" = 12 ] && export DTRAIN_SOCKET_IFNAME=nosuchif0
exec "$hello"
END
lab_expect 1 "no interface 'nosuchif0'" "a task that cannot listen" "${step[@]}" "$work/other_ifname"
t_ok "is heard by all" said 16 "this machine has no interface 'nosuchif0'"

# ---- Late ranks --------------------------------------------------------------------------------

script late9 <<END
[ "\$SLURM_PROCID" = 9 ] && sleep 5
exec "$hello"
END
lab_expect 0 " of 16 ranks connected without the fence, which did not end within 3 s" "a task that starts 5 s late joins" \
  env DTRAIN_LOG=info "${step[@]}" "$work/late9"
t_ok "all 16 ranks say hello in spite of it" said 16 " of 16 on n"
t_ok "it is said once" said 1 "connected without the fence"

# ---- What says why --------------------------------------------------------------------------

lab_expect 1 "start it with srun --mpi=pmix" "a step without PMIx" "${step[@]}" --mpi=none "$hello"
lab_expect 1 "this step of 4 tasks was started without a --dtrain option" "a step without an option" srun -N2 -n4 "$hello"
lab_expect 1 "DTRAIN_TIMEOUT: 'soon' is not" "a malformed deadline" env DTRAIN_TIMEOUT=soon "${step[@]}" "$hello"
lab_expect 1 "SLURM_DTRAIN_PLAN: " "a malformed plan" srun -N1 -n2 --mpi=pmix --export=ALL,SLURM_DTRAIN_PLAN=rubbish "$hello"

# ---- Deaths ---------------------------------------------------------------------------------

# One rank is killed once it is up; the others would stay for longer than lab_expect waits.
dies() {
  local victim=$1 node=$2
  script "dies$victim" <<END
[ "\$SLURM_PROCID" = $victim ] || exec "$hello" 300
"$hello" 300 >"$work/up$victim" &
until grep -q '^rank' "$work/up$victim"; do sleep 0.1; done
kill -9 \$!
wait
exit 0
END
  lab_expect 1 "rank $victim on $node died" "rank $victim is killed" "${step[@]}" "$work/dies$victim"
  t_ok "the 15 others name rank $victim" said_by 15 "hello: rank " "rank $victim on $node died (seen by rank "
  t_holds "and who saw it says it" "$lab_out" "dtrain: rank $victim on $node died (seen by rank "
}

dies 0 n1
dies 4 n2
dies 13 n4

# ---- Hangs ----------------------------------------------------------------------------------

# Rank 5 is stopped once it is up, and ended when the others have named it.
script stops5 <<END
[ "\$SLURM_PROCID" = 5 ] || exec "$hello" 300
"$hello" 300 >"$work/up5" &
until grep -q '^rank' "$work/up5"; do sleep 0.1; done
kill -STOP \$!
sleep 8
kill -9 \$!
wait
exit 0
END
# Which rank's deadline passes first is chance: it may name one that itself waits, and all say whom they waited for.
lab_expect 1 "for rank 5 on n2" "a stopped rank is named at the deadline" env DTRAIN_TIMEOUT=3 "${step[@]}" "$work/stops5"
t_ok "the 15 others end" said_by 15 "hello: rank " "waited 3 s for"

# The link of n4 is cut once all are up. Ranks on n4 and elsewhere wait for each other in vain.
cut_link() {
  local tick
  for ((tick = 0; tick < 100; tick++)); do
    [ "$(cat "$work"/cut.* 2>/dev/null | grep -c '^rank')" = 16 ] && break
    sleep 0.1
  done
  lab_node n4 ip link set eth0 down
  sleep 6
  lab_node n4 ip link set eth0 up
}

script cut <<END
exec "$hello" 300 >"$work/cut.\$SLURM_PROCID"
END
cut_link &
cut=$!
lab_expect 1 "waited 3 s for rank 1" "a lost network is seen at the deadline" env DTRAIN_TIMEOUT=3 "${step[@]}" "$work/cut"
wait "$cut"
t_ok "the link was cut after all were up" t_same "$(cat "$work"/cut.* | grep -c '^rank')" 16

t_ok "no node is drained" lab_nodes_are_well
t_done
