#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Shows a training that loses a rank and regains one: of three ranks one is killed, as by kill -9, and a spare that
# waited takes its place.
#
#     sh elastic.sh build/examples/train [option of train...]
set -eu
program=$1
shift

folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
export TUTTI_JOB="elastic-$$" TUTTI_STORE="file:$folder" TUTTI_SIZE=3 TUTTI_LOCAL_SIZE=3
export TUTTI_TIMEOUT=300  # seconds that the spare waits

# Trains as a rank. Rank 1 is killed after its hundredth step; the spare has its number in the environment.
train() {
  rank=$1
  shift
  TUTTI_RANK=$rank "$program" run $options "$@"
}

options="--transport tcp --epochs 8 --samples 4000 --on-fault continue --max-ranks 3 --die 1:100"
train 1 "$@" --enter >"$folder/spare" 2>&1 &
spare=$!
until ls "$folder"/tutti-door-*/waiting.* >/dev/null 2>&1 || ! kill -0 "$spare" 2>/dev/null; do
  sleep 0.1
done
train 1 "$@" >"$folder/killed" 2>&1 &
train 2 "$@" >"$folder/other" 2>&1 &
other=$!
train 0 "$@"
wait "$other" && wait "$spare" || {
  cat "$folder/other" "$folder/spare"
  exit 1
}
