#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# train on GPUs: invalid options and missing GPUs are refused by name. If there is a GPU, ranks on it and on the host
# learn as ranks on hosts do.
#
#     sh train_gpu.sh build/examples/train options       refusals, by a program with CUDA or without
#     sh train_gpu.sh build/examples/train training      needs a GPU; otherwise it is skipped (status 77)
. "$(dirname "$0")/train_checks.sh"

refused() {  # options, status, what is said
  status=0
  $train run --ranks 2 --epochs 1 --samples 2000 --hidden 32 $1 > log 2>&1 || status=$?
  [ "$status" = "$2" ] || wrong "$1: status $status"
  shows "$3" log
}
no_gpu='cannot compute on a GPU: '

if [ "$2" = options ]; then
  refused '--precision bf16' 2 '--precision: needs --gpu'
  refused '--gpu all --precision double' 2 '--precision: double not in'
  for text in some all,1 1,all 1: :1 1:x 1:0:0 -1 1:-1 0x1 1:+0; do
    refused "--gpu=$text" 2 '--gpu: must be all, or RANK\[:CARD\],..., such as 1,3:0, not '
  done
  refused '--gpu 1,1:0' 2 '--gpu: names rank 1 twice'
  refused '--gpu all --reproducible' 2 '--gpu: cannot be used with --reproducible'
  refused '--gpu all --pretend 0.1' 2 '--gpu: cannot be used with --pretend'
  refused '--gpu all --precision fp16 --synchronised-statistics' 2 '--precision: fp16 cannot be used with'
  refused '--gpu 0 --strategy parameter_server' 2 '--gpu: names rank 0, which is a server'
  refused '--gpu 1,2' 1 '--gpu names rank 2, but the ranks are 0 to 1'
  refused '--gpu 010' 1 '--gpu names rank 10, but the ranks'
  for transport in loopback shared_memory tcp; do
    refused "--gpu 1:4096 --transport $transport" 1 '^train: rank 0: --gpu: rank 1 (.*) '
    shows "on card 4096, but its host has \|$no_gpu" log
    [ "$(wc -l < log)" = 1 ] || wrong 'it is said once'
  done
  cp log without_it
  # Launched ranks must agree on the precision.
  joining="env TUTTI_JOB=other TUTTI_STORE=file:other TUTTI_SIZE=2 $train run --gpu 1"
  TUTTI_RANK=1 $joining --precision bf16 > other_log 2>&1 &
  if TUTTI_RANK=0 $joining > log 2>&1; then wrong 'ranks with other options train'; fi
  wait
  shows 'was started with precision="bf16"' log
  # A server needs no GPU: it is worker 0, rank 1, that lacks one.
  if grep -q "$no_gpu" without_it; then
    refused '--gpu all --strategy parameter_server' 1 "^train: rank 0: --gpu: rank 1 (.*) $no_gpu"
  fi
  exit 0
fi

small='--ranks 3 --epochs 1 --samples 2000 --hidden 32'
if ! $train run $small --gpu all > log 2>&1; then
  grep -q "$no_gpu" log || wrong 'all ranks on GPUs'
  cat log
  exit 77
fi
shows '^gpu    rank 0 on card [0-9]*, rank 1 on card [0-9]*, rank 2 on card [0-9]* in float$' log
accuracy() { sed -n 's/^test accuracy \([0-9.]*\) %.*/\1/p' log; }
weights() { sed -n 's/^ *"weights": *//p' report.json; }
$train run $small --report report.json > log 2>&1 || wrong 'on hosts'
right=$(accuracy)
on_hosts=$(weights)
for how in '--gpu all' '--gpu 1:0' '--gpu 0,2 --precision bf16' '--gpu 2 --precision fp16' '--gpu 1 --bucket 16K' \
  '--gpu all --transport shared_memory' '--gpu 1 --transport tcp --strategy parameter_server'; do
  $train run $small $how --report report.json > log 2>&1 || wrong "$how"
  shows '^gpu    rank ' log
  shows '"card": [0-9]' report.json
  awk "BEGIN { exit !($(accuracy) > $right - 3) }" || wrong "$how: $(accuracy) %, on hosts $right %"
done
shows 'gpu    rank 1 on card [0-9]* in float; the others on their hosts in float$' log

# Shows that the hosts have not computed it.
$train run $small --gpu all --precision bf16 --report report.json > log 2>&1 || wrong 'in bf16'
[ -n "$on_hosts" ] && [ "$(weights)" != "$on_hosts" ] || wrong 'weights in bf16 are those of float on hosts'

# After a loss, ranks have other numbers and keep their GPUs. A checkpoint of a GPU can be resumed by any rank.
$train run $small --transport tcp --gpu 2:0 --on-fault continue --die 1:8 --report report.json > log 2>&1 ||
  wrong 'a loss'
shows '"rank": 1' report.json
keeping="$train run --ranks 3 --epochs 2 --samples 2000 --hidden 32 --checkpoint kept --gpu"
if $keeping 1 --die 2:20 > log 2>&1; then wrong 'a rank that dies ends the training'; fi
$keeping 2 --resume > log 2>&1 || wrong 'it is resumed, by a GPU on another rank'
