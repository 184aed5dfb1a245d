#!/bin/bash
# Parameter servers on a real cluster: the fit is that of the closed form; a worker that is killed does not
# stop the others, a server that is killed is named to all.
set -u
# shellcheck source=tests/slurm/lib.sh
. "$(dirname "$0")/lib.sh"

cd / # a folder that every node has
work=$DT_PROGRAMS/ps-test
ps=$DT_PROGRAMS/ps
rm -rf "$work"
mkdir -p "$work"
chmod 1777 "$work"

step=(srun -N4 --ntasks-per-node=3 --kill-on-bad-exit=0 --dtrain-tp=1 --dtrain-backend=host)

# said N WORDS: N of the lines in $lab_out hold the words.
said() {
  t_same "$(grep -cF -- "$2" <<<"$lab_out")" "$1" || { printf '%s\n' "$lab_out"; return 1; }
}

lab_expect 0 "step 200 loss 0." "8 workers and a server on each of 4 nodes" "${step[@]}" "$ps" 200
t_ok "all workers have the closed form" said 8 "0 of 8 workers lost, off the closed form by "
t_ok "all servers served" said 4 "served 8 workers, 0 lost"
lab_expect 0 "served 11 workers, 0 lost" "one server" "${step[@]}" "$ps" 100 0 1
lab_expect 0 "served 4 workers, 0 lost" "8 servers" "${step[@]}" "$ps" 100 0 8
lab_expect 1 "all 12 ranks are servers: there is no worker" "no worker" "${step[@]}" "$ps" 100 0 12

# dies TASK STEPS: a program whose task is killed when the first worker has printed its 40th step.
dies() {
  cat >"$work/dies$1" <<END
#!/bin/bash
[ "\$SLURM_PROCID" = 1 ] && exec "$ps" $2 20 >"$work/steps$1"
[ "\$SLURM_PROCID" = $1 ] || exec "$ps" $2 20
"$ps" $2 20 &
until grep -q '^step 40 ' "$work/steps$1"; do sleep 0.1; done
kill -9 \$!
wait
exit 0
END
  chmod 755 "$work/dies$1"
}

dies 7 250
lab_expect 0 "rank 7 on n3 died" "a worker is killed, the others end well" "${step[@]}" "$work/dies7"
t_ok "with the closed form of those that live" said 6 "1 of 8 workers lost, off the closed form by "
t_ok "the first one, too" grep -q "1 of 8 workers lost, off the closed form by " "$work/steps7"
t_ok "the servers know" said 4 "served 8 workers, 1 lost"
t_ok "one says when it was lost" said 1 "parameter servers: worker rank 7 is lost after "

dies 3 250
lab_expect 1 "rank 3 on n2 died" "a server is killed" "${step[@]}" "$work/dies3"
t_ok "the 11 others name it" t_same "$(grep '^ps: ' <<<"$lab_out" | grep -c 'rank 3 on n2 died')" 11

t_ok "no node is drained" lab_nodes_are_well
t_done
