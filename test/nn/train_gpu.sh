#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# train on GPUs: what makes no sense is refused by name, and so is a card that is not there; where there is one, ranks
# on it and on the host learn what ranks on hosts do.
#
#     sh train_gpu.sh build/examples/train options with|without      what is refused, by a program with CUDA or without
#     sh train_gpu.sh build/examples/train training                  needs a GPU; or else it is skipped (status 77)
set -eu
train=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"

wrong() {
  echo "$1"
  cat log
  exit 1
}
shows() { grep -q -- "$1" "$2" || wrong "$2 has no \"$1\""; }
refused() {  # options, status, what is said
  status=0
  $train --ranks 2 --epochs 1 --samples 2000 --hidden 32 $1 > log 2>&1 || status=$?
  [ "$status" = "$2" ] || wrong "$1: status $status"
  shows "$3" log
}
has_none() { grep -q 'is not in this program\|and its host has none' log; }

if [ "$2" = options ]; then
  refused '--precision bf16' 2 '--precision: needs --gpu'
  refused '--gpu all --precision double' 2 '--precision: double not in'
  for text in some all,1 1,all 1: :1 1:x 1:0:0 -1 1:-1; do
    refused "--gpu=$text" 2 '--gpu: takes all, or RANK\[:CARD\],..., such as 1,3:0; '
  done
  refused '--gpu 1,1:0' 2 '--gpu: names rank 1 twice'
  refused '--gpu all --reproducible' 2 '--gpu: does not go with --reproducible'
  refused '--gpu all --pretend 0.1' 2 '--gpu: does not go with --pretend'
  refused '--gpu all --precision fp16 --synchronised-statistics' 2 '--precision: fp16 does not go with'
  refused '--gpu 0 --strategy parameter_server' 2 '--gpu: names rank 0, which is a server'
  if [ "$3" = without ]; then
    for ranks in all 0 1:1; do
      refused "--gpu $ranks" 1 '^train: --gpu is not in this program: tutti::nn_cuda was not available'
    done
    exit 0
  fi
  refused '--gpu 1,2' 1 '--gpu names rank 2, and there are only ranks 0 to 1'
  for transport in loopback shared_memory tcp; do
    refused "--gpu 1:4096 --transport $transport" 1 '^train: rank 0: --gpu: rank 1 is to compute on '
    shows 'on card 4096, and its host has \|on a GPU, and its host has none: ' log
    [ "$(wc -l < log)" = 1 ] || wrong 'it is said once'
  done
  # Ranks of a launcher agree on it.
  joining="env TUTTI_STORE=file:other TUTTI_SIZE=2 $train --gpu 1"
  TUTTI_RANK=1 $joining --precision bf16 > other_log 2>&1 &
  if TUTTI_RANK=0 $joining > log 2>&1; then wrong 'ranks with other options train'; fi
  wait
  shows 'was started with precision="bf16"' log
  # A server needs no card: it is worker 0, rank 1, that lacks one.
  if ! $train --ranks 2 --epochs 1 --samples 2000 --gpu all --strategy parameter_server > log 2>&1; then
    shows '^train: rank 0: --gpu: rank 1 is to compute on a GPU, and its host has none: ' log
  fi
  exit 0
fi

small='--ranks 3 --epochs 1 --samples 2000 --hidden 32'
if ! $train $small --gpu all > log 2>&1; then
  has_none || wrong 'all ranks on GPUs'
  cat log
  exit 77
fi
shows '^gpu    rank 0 on card [0-9]*, rank 1 on card [0-9]*, rank 2 on card [0-9]* in float$' log
accuracy() { sed -n 's/^test accuracy \([0-9.]*\) %.*/\1/p' log; }
$train $small > log 2>&1 || wrong 'on hosts'
right=$(accuracy)
for how in '--gpu all' '--gpu 1:0' '--gpu 0,2 --precision bf16' '--gpu 2 --precision fp16' '--gpu 1 --bucket 16K' \
  '--gpu all --transport shared_memory' '--gpu 1 --transport tcp --strategy parameter_server'; do
  $train $small $how --report report.json > log 2>&1 || wrong "$how"
  shows '^gpu    rank ' log
  shows '"card": [0-9]' report.json
  awk "BEGIN { exit !($(accuracy) > $right - 3) }" || wrong "$how: $(accuracy) %, on hosts $right %"
done
shows 'gpu    rank 1 on card [0-9]* in float; the others on their hosts in float$' log
