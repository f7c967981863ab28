#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Trains through the device in hardware, simulated behind a TAP interface, then through the soft switch, and compares the
# weights, bit for bit.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
root=$(cd "$(dirname "$0")/../../.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh train.sh [--data FOLDER] [--ranks N] [option of train...]

Installs what is missing (Debian, Ubuntu), builds in build/hardware, and trains the multilayer perceptron for one epoch on
2 ranks, twice: through tap_nic, the Verilated device, and through soft_switch. Fails if a bit of the weights differs,
or if the device has not made all the sums that soft_switch has made.

  --data FOLDER  with MNIST's four files, plain or .gz; else digits that the program draws
  --ranks N      2 if not given
  --build FOLDER where to build; build/hardware if not given
  --help         this text

Runs in a network namespace of its own, as root or with user namespaces; no address of this host changes.
TEXT
}

data=builtin ranks=2 build="$root/build/hardware"
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=${2:?--data needs a folder} && shift ;;
    --ranks) ranks=${2:?--ranks needs a number} && shift ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) break ;;
  esac
  shift
done

if [ -z "${TUTTI_IN_NAMESPACE:-}" ]; then
  install_missing build nn example hardware interface
  say "Building train, tap_nic and soft_switch in $build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTUTTI_BUILD_TESTS=OFF > /dev/null
  cmake --build "$build" --target train tap_nic soft_switch
  as=""
  [ "$(id -u)" -eq 0 ] || as=--map-root-user
  export TUTTI_IN_NAMESPACE=yes
  exec unshare --net $as sh "$0" --data "$data" --ranks "$ranks" --build "$build" "$@"
fi

ip link set lo up
work=$(mktemp -d)
device=""
trap '[ -z "$device" ] || kill "$device" 2> /dev/null || true; rm -rf "$work"' EXIT

# train_through <name> <address> <option of train...>: the device runs while ranks train, and its counters are shown.
train_through() {
  name=$1 address=$2
  shift 2
  say "Training through $name"
  : > "$work/$name"
  case $name in
    tap_nic) "$build/hardware/fpga_nic/tap_nic" >> "$work/$name" 2>&1 & ;;
    soft_switch) "$build/tools/soft_switch" --listen "$address" >> "$work/$name" 2>&1 & ;;
  esac
  device=$!
  until grep -q "^$name: " "$work/$name"; do
    kill -0 "$device" 2> /dev/null || { cat "$work/$name" >&2 && fail "$name has not started"; }
    sleep 0.1
  done
  begin=$(date +%s)
  "$build/examples/train" run --transport fpga_nic --device "$address" --ranks "$ranks" --epochs 1 --data "$data" \
    --checkpoint "$work/weights_of_$name" "$@"
  echo "took $(($(date +%s) - begin)) s"
  kill "$device"
  wait "$device" || fail "$name has failed: $(cat "$work/$name")"
  device=""
  grep -E '^ *(clocks|frames|no room|packets|completed|repeated|results|sent) ' "$work/$name"
}
# completed <name>: the packets that it has summed.
completed() { sed -n 's/^ *completed *//p' "$work/$1"; }
train_through tap_nic 10.77.0.2:7171 "$@"
train_through soft_switch 127.0.0.1:7171 "$@"

# Both are asked for the same sums. Where a device does not answer in time, rank 0 sums in its place.
summed=$(completed tap_nic) wanted=$(completed soft_switch)
[ "${wanted:-0}" -gt 0 ] && [ "${summed:-0}" -eq "$wanted" ] ||
  fail "tap_nic has summed ${summed:-0} packets, and soft_switch ${wanted:-0}: the other sums were made by rank 0 in place" \
    "of the device. Try again when the machine is idle."

# The parameters in a checkpoint: its head of 24 bytes, a table of sections (16 bytes each: number, checksum, length), the
# table's checksum, and the sections. Other sections hold times.
parameters_of() {
  set -- "$1" $(od -An -v -tu4 -j12 -N4 "$1")
  place=$((24 + 16 * $2 + 4)) found=""
  for row in $(od -An -v -w16 -tu4 -j24 -N$((16 * $2)) "$1" | awk '{ print $1 ":" $3 }'); do
    length=${row#*:}
    [ "${row%:*}" != 3 ] || { tail -c +$((place + 1)) "$1" | head -c "$length" && found=yes; }
    place=$((place + length))
  done
  [ -n "$found" ]
}

say "Comparing the weights"
for name in tap_nic soft_switch; do
  parameters_of "$(ls "$work/weights_of_$name/"*.tutti | tail -n 1)" > "$work/parameters_of_$name" ||
    fail "the checkpoint of the ranks that trained through $name has no weights"
done
cmp "$work/parameters_of_tap_nic" "$work/parameters_of_soft_switch" || fail "the weights differ"
sha256sum < "$work/parameters_of_tap_nic"
say "All $(($(wc -c < "$work/parameters_of_tap_nic") / 4)) weights are the same, bit for bit"
