#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Processes enter trainings: a spare in the place of a lost rank, and one that asks for another training and is turned
# away.
#
#   sh train_newcomers.sh <program train> <elastic.sh>
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM

sh "$2" "$program" --hidden 32 | tee "$folder/elastic"
grep -q '^world  .* and 1 that entered, continue' "$folder/elastic"
grep -q '^test accuracy' "$folder/elastic"

export TUTTI_JOB="newcomer-$$" TUTTI_STORE="file:$folder" TUTTI_TIMEOUT=120
train() {
  "$program" run --samples 2000 --hidden 32 --transport tcp --on-fault continue --max-ranks 3 --epochs 10 "$@"
}
train --lr 0.5 --enter 2>"$folder/refused" &
newcomer=$!
until ls "$folder"/tutti-door-*/waiting.* >/dev/null 2>&1 || ! kill -0 "$newcomer" 2>/dev/null; do
  sleep 0.1
done
train --ranks 2 | tee "$folder/others"
grep -q '^test accuracy' "$folder/others"
if wait "$newcomer"; then
  echo "a process that asks for another training has ended well" >&2
  exit 1
fi
grep 'was started with lr=0.5' "$folder/refused"
