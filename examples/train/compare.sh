#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Trains once for every pair of a transport and a topology, and compares: the best and the worst test
# accuracy, and whether the loss curves of one topology are the same, bit for bit, on every transport.
#
#     sh compare.sh build/examples/train --data mnist
#
# Arguments after the program are passed to it. TRANSPORTS and TOPOLOGIES select some instead of all. Ends with status
# 1 if two curves differ that must not, or if two accuracies differ by more than SPREAD points.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
program=$1
shift
transports=${TRANSPORTS:-loopback shared_memory tcp}
topologies=${TOPOLOGIES:-ring chain binary_tree doubling butterfly star direct}
spread=${SPREAD:-0.3}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
report=$folder/report.json
failed=0

printf '%-12s %-14s %9s %10s   %s\n' topology transport accuracy images/s 'loss curve'
for topology in $topologies; do
  first=
  for transport in $transports; do
    "$program" run "$@" --topology "$topology" --transport "$transport" --report "$report" >"$folder/log" || {
      cat "$folder/log"
      exit 1
    }
    accuracy=$(sed -n 's/^ "test_accuracy": \([0-9.e-]*\).*/\1/p' "$report")
    speed=$(sed -n 's/^ "images_per_s": \([0-9]*\).*/\1/p' "$report")
    curve=$(sed -n '/^  "loss": \[/,/\]/p' "$report" | cksum | cut -d ' ' -f 1)
    note=
    [ "$curve" = "${first:=$curve}" ] || { note='  DIFFERS'; failed=1; }
    printf '%-12s %-14s %8s%% %10s   %s%s\n' "$topology" "$transport" \
      "$(awk "BEGIN { printf \"%.2f\", 100 * $accuracy }")" "$speed" "$curve" "$note"
    echo "$accuracy" >>"$folder/accuracies"
  done
done

sort -g "$folder/accuracies" | awk -v spread="$spread" '
  NR == 1 { least = $1 }
  { most = $1 }
  END {
    printf "accuracy from %.2f %% to %.2f %%\n", 100 * least, 100 * most
    exit 100 * (most - least) > spread + 1e-9
  }' || { echo "that is more than $spread points apart"; failed=1; }
exit "$failed"
