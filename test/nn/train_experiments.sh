#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Experiments that train offers: slow ranks, ranks that die, large models, hosts of several ranks, and gradients that
# take simulated time instead of being computed. Valid options take effect, and invalid ones are refused by name.
#
#     sh train_experiments.sh build/examples/train
. "$(dirname "$0")/train_checks.sh"

refused() {  # options, what is said
  if timeout 20 $train run --epochs 1 $1 > log 2>&1; then wrong "$1 is taken"; fi
  shows "$2" log
}
small='--epochs 1 --samples 2000 --hidden 32'  # 16 steps
busy() { sed -n 's/^   "busy_s": \([0-9.e-]*\),*$/\1/p' report.json | sed -n "$1p"; }  # seconds of the n-th rank
longer() { awk "BEGIN { exit !($1 > 4 * $2) }" || wrong "$3: $1 s is not much more than $2 s"; }

# A rank is slow with any strategy; a factor of 30 exceeds the delays of a busy machine.
for way in '' '--bucket 16K' '--strategy local_sgd' '--strategy gossip' '--compress top_k'; do
  $train run $small --ranks 2 --slow 1:30 $way --report report.json > log 2>&1 || wrong "slow, $way"
  longer "$(busy 2)" "$(busy 1)" "rank 1 is slow, $way"
done
shows 'rank 1 takes 30 times as long' log
# Random factors for all ranks, 1 to 60 and 30 in the mean, and 3 times that for one rank. The factor 3 is checked
# below at simulated speed. A busy machine only adds to the time of computing, so the least of three is nearest to it.
for _ in 1 2 3; do
  $train run $small --ranks 2 --report report.json > log 2>&1 || wrong 'none is slow'
  busy 1 >> quick
done
$train run $small --ranks 2 --slow random:60,1:3 --report report.json > log 2>&1 || wrong 'all are slow at random'
longer "$(busy 1)" "$(sort -g quick | head -n 1)" 'rank 0 is slow at random'
shows 'each gradient takes 1 to 60 times as long, at random' log
shows 'rank 1 takes 3 times as long' log
servers="--ranks 4 --strategy parameter_server --servers 2"
$train run $small $servers --slow 3:30 --report report.json > log 2>&1 || wrong 'a slow worker'
longer "$(busy 4)" "$(busy 3)" 'worker 1 is slow'
$train run $small $servers --slow 1:60 --report report.json > log 2>&1 || wrong 'a slow server'
longer "$(busy 2)" "$(busy 1)" 'server 1 is slow'

# The others continue without a lost worker, and stop without a server.
for transport in tcp loopback; do
  $train run $small $servers --die 3:5 --transport $transport --plot picture.svg > log 2>&1 || wrong 'a worker dies'
  shows '^lost: worker 1: ' log
  shows '>fault<' picture.svg
done
for server in 0 1; do
  if $train run $small $servers --die $server:5 --transport tcp > log 2>&1; then wrong "server $server dies"; fi
  shows "server $server" log
done

for option in --lr --lr-end --momentum --weight-decay --trust --change-by --decay-by --warmup --l1 --participation --keep \
              --threshold --sparsity-warmup --local-clipping --factor --beta1 --beta2 --epsilon --clip-norm --label-smoothing --dropout \
              --validation; do
  for value in nan inf; do
    refused "$option $value" "$option"
    [ "$(grep -c . log)" -le 2 ] || wrong "$option $value: more than a sentence"
  done
done
refused '--ranks 2 --slow 2:4' '--slow names rank 2, but the ranks are 0 to 1'
refused '--ranks 2 --die 2:4' '--die names rank 2, but the ranks are 0 to 1'
refused '--slow 1:0' '--slow: must be RANK:FACTOR'
refused '--slow 1:-2' '--slow: must be RANK:FACTOR'
refused '--slow 1:nan' '--slow: must be RANK:FACTOR'
refused '--slow 1' '--slow: must be RANK:FACTOR'
refused '--slow 1:2,1:3' '--slow: names rank 1 twice'
refused '--slow random:0.5' '--slow: must be RANK:FACTOR, such as 2:4, or random:FACTOR'
refused '--slow random:' '--slow: must be RANK:FACTOR'
refused '--slow random:2,random:3' '--slow: must have random:FACTOR only once'
refused '--die 1:2,1:3' '--die: names rank 1 twice'
refused "$servers --on-fault stop" '--on-fault: cannot be used with --strategy parameter_server'

# Models for images of 32 x 32 accept padded digits.
$train run --ranks 2 --epochs 1 --samples 16 --test-samples 2 --batch 8 --model alexnet --report report.json \
  > log 2>&1 || wrong 'alexnet'
shows '^data   built-in digits: 16 training and 2 test images of 32 x 32 pixels' log
shows '^model  alexnet, 2456778 parameters' log  # 2,472,266 for colour, less 2 x 64 x 11 x 11
refused '--model vgg16 --activation tanh' '--activation: needs --model mlp, not vgg16'
refused '--test-samples 5 --data .' '--test-samples: needs --data builtin, not .; a folder is used whole'

# A tree on each host, and a ring among hosts: of 4 ranks on 2 hosts, each speaker sends a gradient to its host and one
# to the other host. Any other rank sends one to its speaker.
hosts='--ranks 4 --transport by_locality --topology hierarchical --ranks-per-host'
sent() { sed -n 's/^   "sent_bytes": \([0-9.e+]*\),*$/\1/p' report.json | sed -n "$1p"; }
$train run $small $hosts 2 --report report.json > log 2>&1 || wrong "hierarchical"
shows "by_locality, hosts_ring" log
for speaker in 1 3; do
  awk "BEGIN { exit !($(sent $speaker) > 1.7 * $(sent $((speaker + 1))) && $(sent $speaker) < 2.3 * $(sent $((speaker + 1)))) }" ||
    wrong "a speaker sends twice as much: $(sent $speaker) and $(sent $((speaker + 1)))"
done
$train run $small $hosts 3 --strategy parameter_server > log 2>&1 || wrong 'servers by locality'
refused "--ranks 4 --transport tcp --ranks-per-host 2" '--ranks-per-host: needs --transport by_locality'

# 244 MB of gradients whose layers are not computed: two steps of 0.4 s, one of half as many images; and a slow rank.
pretending="$train run --ranks 2 --epochs 1 --model alexnet --batch 8 --samples 20 --pretend 0.4 --momentum 0"
$pretending --bucket 16M --report report.json > log 2>&1 || wrong 'pretended'
shows '^data   none: gradients are zeros, each image.s takes 100 ms' log
shows '^model  alexnet for images of 224 x 224, 60965224 parameters' log
shows '^no test after epoch 1' log
awk "BEGIN { exit !($(busy 1) >= 0.99) }" || wrong "1 s of computing takes $(busy 1) s"
small_steps='--ranks 2 --epochs 1 --samples 64 --batch 8 --hidden 8'  # 8 of them
$train run $small_steps --pretend 40/s --slow 1:3 --report report.json > log 2>&1 || wrong 'pretended, and a slow rank'
awk "BEGIN { exit !($(busy 1) >= 0.79 && $(busy 1) < 1.6 && $(busy 2) >= 2.39) }" ||
  wrong "0.8 and 2.4 s of computing take $(busy 1) and $(busy 2) s"
$train run $small_steps --pretend 400/s --strategy parameter_server --report report.json > log 2>&1 ||
  wrong 'and servers'
awk "BEGIN { exit !($(busy 2) >= 0.15) }" || wrong "0.16 s of computing take $(busy 2) s"
$train run $small_steps --pretend 40/s --slow random:5 --report report.json > log 2>&1 || wrong 'pretended, at random'
awk "BEGIN { exit !($(busy 1) >= 1 && $(busy 2) >= 1) }" || wrong "2.4 s in the mean take $(busy 1) and $(busy 2) s"
$train run $small_steps --pretend 40/s --slow random:5,1:3 --report report.json > log 2>&1 || wrong 'both, pretended'
awk "BEGIN { exit !($(busy 2) > 1.2 * $(busy 1)) }" || wrong "at random and 3 times: $(busy 2) s, and $(busy 1) s"
refused '--pretend 0' '--pretend: must be seconds, such as 0.2, or images a second'
refused '--pretend nan' '--pretend: must be seconds'
refused '--pretend 5/m' '--pretend: must be seconds'
refused '--pretend 1 --data .' '--data: cannot be used with --pretend'
refused '--pretend 1 --augment flip' '--augment: cannot be used with --pretend'
refused '--pretend 1 --checkpoint kept' '--checkpoint: cannot be used with --pretend'
refused '--pretend 1 --side 32' '--side: needs a model with large images, such as alexnet, not mlp'
refused '--side 32 --model vgg16' '--side: needs --pretend'

# Usage of ranks: a server updates, workers compute, the slow one longest. Sent bytes are received, and the picture has
# a row for each activity.
$train run $small $servers --slow 3:20 --transport tcp --usage usage.json --plot picture.svg > log 2>&1 || wrong 'usage'
sum_of() {  # the sum of a list of the n-th rank
  awk -v key="\"$1\": [" -v rank="$2" 'index($0, key) { n++; inside = 1; next } /\]/ { inside = 0 }
    inside && n == rank { sub(/,/, ""); sum += $1 } END { print sum + 0 }' usage.json
}
above() { awk "BEGIN { exit !($1 > $2) }" || wrong "$3: $1, and not above $2"; }
above "$(sum_of updating 1)" 0 'server 0 updates'
above "$(sum_of computing 4)" "2 * $(sum_of computing 3)" 'worker 1 computes longest'
above 1e-9 "$(sum_of computing 2)" 'server 1 computes nothing'
for what in bytes messages; do
  out=0 in=0
  for rank in 1 2 3 4; do
    out="$out + $(sum_of sent_$what $rank)" in="$in + $(sum_of received_$what $rank)"
  done
  above "1.02 * ($in)" "$out" "$what that were sent are received"
  above "1.02 * ($out)" "$in" "$what that were received are sent"
done
above "$(sum_of resident_bytes 2)" 1e6 'server 1 has memory'
shows '"role": "worker 1"' usage.json
for part in 'activity of the ranks over time' 'server 1: % of time; ' 'worker 0: % of time; ' 'iB of server 0 so far'; do
  shows "$part" picture.svg
done
$train run $small --ranks 3 --transport tcp --on-fault continue --die 2:8 --usage usage.json --plot picture.svg \
  > log 2>&1 || wrong 'usage, and a fault'
shows '"faults_s": \[$' usage.json
[ "$(grep -c 'stroke="#707070"[^]]' picture.svg)" = 9 ] || wrong 'a fault is in four panels, a legend, and two rows of two'
refused '--usage usage.json --bucket 16K --progress-thread' '--usage: cannot be used with --progress-thread'

# Help fits a screen, an unknown group or recipe is refused, and the command line wins over a file, which wins over a
# recipe.
groups=$($train run --help | sed -n '/by group/,$s/^  \([a-z]*\) .*/\1/p')
for group in '' $groups; do
  $train run --help $group > log || wrong "help of $group"
  awk 'length($0) > 100 { exit 1 } END { exit NR > 40 || NR < 5 }' log || wrong "help of $group exceeds a screen"
done
$train run --help-all > all
for group in $groups; do grep -q "^$group: " all || wrong "--help-all lacks $group"; done
refused '--help nothing' '--help: there is no group nothing'
refused '--recipe nothing' '--recipe: must be one of these, not "nothing"'
shows '  lenet5-mnist ' log
echo 'batch=32' > settings
tiny='--samples 200 --test-samples 20 --ranks 1'
$train run $tiny --epochs 1 --recipe lenet5-mnist --config settings > log 2>&1 || wrong 'a recipe and a file'
shows '^model  lenet5' log
shows '^batch  32 in all' log
$train run $tiny --epochs 1 --recipe lenet5-mnist --config settings --batch 16 > log 2>&1 || wrong 'and an option'
shows '^batch  16 in all' log
$train run $tiny --epochs 1 --recipe lenet5-mnist --batch-per-rank 50 > log 2>&1 || wrong 'instead of a batch'
shows '^batch  50 in all' log
if $train > log 2>&1; then wrong 'no subcommand'; fi
shows '^usage: train SUBCOMMAND' log
if $train --epochs 1 > log 2>&1; then wrong 'an option without a subcommand'; fi
shows 'train run --epochs 1$' log
