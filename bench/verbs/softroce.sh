#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Measures messages over verbs against other projects' programs, over Soft-RoCE. usage() says how.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh bench/verbs/softroce.sh

Installs what is missing (Debian, Ubuntu), builds in build/release, and prints a table: messages between two processes
over verbs, against programs of rdma-core and perftest, in two rounds in turns in one boot of the guest of
test/verbs/softroce. The clock of the guest counts instructions, so a round can be had again, whatever else this host
does; what the figures do not see is hardware: of devices, caches and cores. All sleep while there is nothing to do but
ib_write_bw, which spins.

Fails if the two rounds differ by more than 2 %.
TEXT
}
case ${1:-} in
  "") ;;
  --help | -h) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
esac

install_missing build verbs softroce softroce_peers
cd "$root"  # presets are looked for here
cmake --preset release -DTUTTI_BUILD_TESTS=OFF > /dev/null
cmake --build "$root/build/release" --target softroce_messages

figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
sh "$root/test/verbs/softroce/run.sh" --count-instructions --limit 600 -- \
  sh "$root/bench/verbs/rounds.sh" "$root/build/release/bench/softroce_messages" 2 > "$figures" ||
  { cat "$figures" && fail "the guest could not measure"; }

awk -F '\t' '
  function mean(name) { return (first[name] + second[name]) / 2 }
  function row(what, unit, own, other) {
    printf "| %s | %.4g %s | `%s` | %.4g %s | %.2f |\n", what, mean(own), unit, other, mean(other), unit,
      mean(own) / mean(other)
  }
  NF == 2 && !($1 in first) { first[$1] = $2; next }
  NF == 2 { second[$1] = $2 }
  END {
    print "| | tutti | other | its figure | tutti / other |\n| --- | --- | --- | --- | --- |"
    row("4 bytes, half a round trip", "us", "latency", "ibv_rc_pingpong -e")
    row("1 MiB, provided memory", "MiB/s", "provided", "ib_write_bw -t 4")
    row("1 MiB, provided memory", "MiB/s", "provided", "ib_send_bw -e")
    row("1 MiB, plain memory", "MiB/s", "plain", "ib_send_bw -e")
    row("1 MiB, plain memory", "MiB/s", "plain", "provided")
    row("1 MiB, plain memory, copied", "MiB/s", "copied", "provided")
    for (name in first) {
      apart = first[name] / second[name]
      if (apart < 1) apart = 1 / apart
      if (apart > 1.02) {
        printf "error: %s was %s in one round and %s in the other\n", name, first[name], second[name] > "/dev/stderr"
        failed = 1
      }
    }
    exit failed
  }' "$figures"
