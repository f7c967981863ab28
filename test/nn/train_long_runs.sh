#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Long runs of train: signals stop it after a checkpoint, killed runs resume as if they had never stopped, a folder
# belongs to one training, and a full disk ends nothing.
#
#     sh train_long_runs.sh build/examples/train
. "$(dirname "$0")/train_checks.sh"

# 16 steps an epoch; longer than any test, and a constant rate does not depend on that.
short="$train run --ranks 3 --samples 2000 --test-samples 100 --hidden 8 --schedule constant"
endless="$short --epochs 1000"
begin() {  # a training beside this script, of its own process group, which is its pid; its log is new
  rm -f log
  setsid "$@" > log 2>&1 &
  pid=$!
}
until_shown() {  # a text in the file log, or in another file
  for _ in $(seq 1000); do
    if grep -qs -- "$1" "${2:-log}"; then return; fi
    sleep 0.01
  done
  wrong "no \"$1\" after 10 s"
}
group_runs() {  # a process group
  cat /proc/[0-9]*/stat 2> /dev/null | awk -v group="$1" '{ sub(/.*\) /, "") } $3 == group { found = 1 } END { exit !found }'
}
weights() { sed -n 's/^ *"weights": \([0-9]*\),*$/\1/p' report.json; }
signal_to() {  # receiver of the signal, signal
  case $1 in
    parent) kill -$2 $pid ;;
    group) kill -$2 -$pid ;;
    rank) kill -$2 $(cat /proc/$pid/task/*/children | tr ' ' '\n' | sed -n 2p) ;;
  esac
}
stopped() {  # receiver of the signal, signal, options
  rm -rf kept
  begin $endless $3 --checkpoint kept
  until_shown "epoch 1/"
  signal_to $1 $2
  wait $pid || wrong "$1, $2, $3: status $?"
  shows "^stopped after step [0-9]* by SIG$2; a checkpoint is in kept; continue with the same command and --resume" log
  step=$(sed -n 's/^stopped after step \([0-9]*\) .*/\1/p' log)
  ls kept/checkpoint-*"$step".tutti > /dev/null || wrong "$1, $2, $3: no checkpoint after step $step"
}

stopped parent TERM '--transport loopback'
$short --epochs $((step / 16 + 1)) --checkpoint kept --resume > resumed 2>&1 || wrong 'resumed'
cat resumed > log
shows "resume after .*, $step steps in all" resumed
shows "^resume with changes: epochs 1000 -> $((step / 16 + 1))" resumed
rm -rf kept
stopped parent USR1 '--transport shared_memory'
stopped rank TERM '--transport tcp'
stopped group TERM '--transport tcp --strategy local_sgd'
stopped group TERM '--transport tcp --on-fault continue'
stopped rank USR1 '--transport shared_memory --strategy gossip --sharded-checkpoints'
stopped parent TERM '--transport tcp --strategy parameter_server'
[ $((step % 16)) = 0 ] || wrong "servers stop after an epoch, not after step $step"

# Without checkpoints a signal ends all ranks in order.
ended() {  # receiver of the signal, signal, its number, options
  begin $endless $4
  until_shown 'epoch 1/'
  signal_to $1 $2
  status=0
  wait $pid || status=$?
  [ $status = $((128 + $3)) ] || wrong "$1, $2, $4: status $status"
  shows "^train: rank [0-2] (.*) aborted the world: SIG$2\$" log
  if grep -q 'is gone' log; then wrong "$1, $2, $4: a rank is gone"; fi
}
ended parent TERM 15 '--transport loopback'
ended parent USR1 10 '--transport shared_memory'
ended rank TERM 15 '--transport tcp'
ended group TERM 15 '--transport tcp --strategy local_sgd'
ended rank TERM 15 '--transport shared_memory --strategy gossip'
ended rank TERM 15 '--transport tcp --strategy parameter_server'
ended parent TERM 15 '--transport tcp --strategy parameter_server'

# With --on-fault continue it ends one rank, and the others continue.
begin $endless --transport tcp --on-fault continue
until_shown 'epoch 1/'
kill -TERM $(cat /proc/$pid/task/*/children | tr ' ' '\n' | sed -n 2p)
until_shown '^world  2 of 3 ranks continue'
kill -TERM -$pid
wait $pid && wrong 'a program that SIGTERM ends has status 0'

# Also ranks that a launcher has started, all with one status and one sentence.
joining="env TUTTI_JOB=ends TUTTI_STORE=file:ends TUTTI_SIZE=3 $train run --samples 2000 --test-samples 100 --hidden 8"
for rank in 0 1 2; do
  TUTTI_RANK=$rank $joining --epochs 1000 > log$rank 2>&1 &
  eval "pid$rank=$!"
done
until_shown 'epoch 1/' log0
kill -TERM "$pid2"
for rank in 0 1 2; do
  status=0
  eval "wait \$pid$rank" || status=$?
  [ $status = 143 ] || wrong "rank $rank of a launcher: status $status"
  shows '^train: rank 2 (.*) aborted the world: SIGTERM$' log$rank
done

# Killed at random times. All ranks are gone before the next run, which may not find the folder in use.
rm -rf kept lines.jsonl
run="$short --transport shared_memory --checkpoint kept --checkpoint-every 3 --metrics lines.jsonl"
for pause in 0.0 0.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ') 0.1; do
  begin $run --epochs 1000 --resume
  until_shown 'epoch '
  sleep $pause
  if $run --epochs 1000 --resume > second 2>&1; then wrong 'a second training'; fi
  shows 'kept is in use by another training, process [0-9]* on host ' second
  kill -KILL -$pid
  wait $pid 2> /dev/null || true
  while group_runs $pid; do sleep 0.01; done
  printf '{"event":"step","epoch":9' >> lines.jsonl  # torn by the end of a machine
done
latest=$(ls kept | sed -n 's/^checkpoint-0*\([0-9]*\)\.tutti$/\1/p' | sort -n | tail -n 1)
end=$((latest / 16 + 1))
$run --epochs $end --resume --report report.json > log 2>&1 || wrong 'resumed after kills'
resumed=$(weights)
awk -F '[:,]' -v steps=$((16 * end)) '
  /"event":"step"/ { if ($4 != int(n / 16) + 1 || $6 != n % 16 + 1) { print "line " NR " is not step " n; exit 1 } n++ }
  { if ($NF + 0 < 0) exit 1 }
  END { if (n != steps) { print n " steps, not " steps; exit 1 } }' lines.jsonl || wrong 'the lines after kills'
sed -n 's/.*"event":"step".*"seconds":\([0-9.e+-]*\)}$/\1/p' lines.jsonl | sort -g -c || wrong 'time runs backwards'
$short --epochs $end --report report.json > log 2>&1 || wrong 'never killed'
[ "$resumed" = "$(weights)" ] && [ -n "$resumed" ] || wrong "weights $resumed after kills, not $(weights)"

# A disk on which two checkpoints fit, and then none: the training continues, and its last checkpoint is good.
cat > full.sh << 'END'
set -eu
mount -t tmpfs -o size=$1 none disk || exit 77
shift
"$@" > log 2>&1 && status=0 || status=$?
ls -A disk/kept > left
cp disk/kept/* saved/ && cp disk/lines.jsonl saved/
exit $status
END
mkdir disk saved
disk="--transport loopback --epochs 3 --checkpoint disk/kept --metrics disk/lines.jsonl"
if unshare -rm true 2> /dev/null; then
  status=0
  unshare -rm sh full.sh 152k $short $disk --checkpoint-keep 3 || status=$?
  if [ $status != 77 ]; then
    [ $status = 0 ] || wrong "room for two checkpoints: status $status"
    shows 'there is no room for another checkpoint in disk/kept: only the latest one stays' log
    unshare -rm sh full.sh 100k $short $disk --checkpoint-every 5 --checkpoint-keep 1 && wrong 'no room for two'
    shows 'epoch 3/3' log
    shows 'the training is done, but its last checkpoint is not kept: .*No space left on device; make room there' log
    [ "$(cat left | tr '\n' ' ')" = 'checkpoint-000000000005.tutti checkpoint-lock ' ] || wrong "$(cat left) is left"
    unshare -rm sh full.sh 40k $short $disk && wrong 'no room for any'
    shows 'epoch 3/3' log
    if [ "$(tail -c 1 saved/lines.jsonl)" != '' ]; then wrong 'a line is torn'; fi
  fi
fi
