#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: rounds.sh MESSAGES ROUNDS
# Runs in the guest of test/verbs/softroce. Measures the program MESSAGES and other projects' in turns, and prints a
# line for each figure: its name, a tab, and the number.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
messages=$1 rounds=$2

# with_server PROGRAM...: runs it as a server and as a client, whose output goes to the file $output.
output=/run/client
with_server() {
  "$@" > /run/server 2>&1 &
  server=$!
  until grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; do  # until it listens at its port, 18515
    kill -0 "$server" 2> /dev/null || { cat /run/server && exit 1; }
  done
  "$@" 10.99.0.1 > "$output" 2>&1 || { cat "$output" && exit 1; }
  wait "$server"
}

say() { printf '%s\t%s\n' "$1" "$2"; }

latency() {
  with_server ibv_rc_pingpong -d rxe0 -g 1 -e -s 4 -n 5000
  say "ibv_rc_pingpong -e" "$(awk '$2 == "iters" { print $(NF - 1) / 2 }' "$output")"
}
bandwidth() {
  with_server "$@" -d rxe0 -x 1 -F -s 1048576 -n 256
  say "$*" "$(awk '$1 == 1048576 { print $4 }' "$output")"
}

round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  figure=$("$messages" latency)
  say "latency" "$figure"
  latency
  for memory in provided plain copied; do
    figure=$("$messages" "$memory")
    say "$memory" "$figure"
  done
  bandwidth ib_write_bw -t 4
  bandwidth ib_send_bw -e
done
