#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the device in hardware: see usage. Without Verilator it says so and ends with 77.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
  cat << 'TEXT'
usage: sh check.sh [options]

Lints the Verilog of the device, builds it with Verilator, and compares it with this host's float32 and with its model
in C++, summing_switch.

  --full         1e8 pairs, 1e7 packets that are spoilt and 1e6 frames of workers that sum, 1e6 of each where a device
                 drops what it has no room for, 1e5 of each to the netlist that Yosys makes, and mutants of the
                 Verilog, all of which must be found: more than an hour
  --mutants      nothing but the mutants
  --netlist      nothing but the netlist
  --pairs N      that the lanes add as float32, 1e7
  --frames N     of each kind of traffic: packets that are spoilt, and workers that sum; 5e4, and 1e4 where a device
                 drops what it has no room for
  --seed N       what they are drawn from, 1
  --build DIR    where to build; build/rtl in the repository
  --jobs N       compilers at once, 2
  --help         this text
TEXT
}

what=check full=no pairs=1e7 frames=5e4 worked=5e4 dropped=1e4 seed=1 build=$root/build/rtl jobs=2
while [ $# -gt 0 ]; do
  case $1 in
    --full) full=yes pairs=1e8 frames=1e7 worked=1e6 dropped=1e6 ;;
    --mutants) what=mutants ;;
    --netlist) what=netlist ;;
    --pairs) pairs=${2:?--pairs needs a number} && shift ;;
    --frames) frames=${2:?--frames needs a number} && worked=$frames && shift ;;
    --seed) seed=${2:?--seed needs a number} && shift ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && echo "check.sh: unknown option $1" >&2 && exit 1 ;;
  esac
  shift
done

for tool in verilator make; do
  command -v $tool > /dev/null || { echo "SKIP: there is no $tool (Debian: $tool)" && exit 77; }
done
cxx=${CXX:-c++}
launcher=${OBJCACHE:-}  # prefix of compiler calls, under the name that Verilator's makefiles use
echo '#include <CLI/CLI.hpp>' | $cxx -std=c++20 -fsyntax-only -x c++ - 2> /dev/null ||
  { echo "SKIP: there is no CLI11 (Debian: libcli11-dev)" && exit 77; }
include=$(verilator --getenv VERILATOR_ROOT)/include
mkdir -p "$build"
build=$(cd "$build" && pwd)
case $build in
  *[[:space:]]*) echo "check.sh: make cannot build in $build, for its blanks: choose another --build" >&2 && exit 1 ;;
esac
ln -sfn "$here" "$build/verilog"
cd "$build"  # from here the Verilog has names without blanks, too

# Parameters of the device that the bench also needs.
tick=64 lease=15
late=$(((1 << 40) - 300))  # the time at which one of them begins: what takes 40 bits for it wraps soon
# Two devices: one that makes the network wait, and one that drops.
sizes_of() {
  case $1 in
    waits) echo "SLOTS=16 WORKERS=8 JOBS=2 WEIGHTS=16 BUFFER_BEATS=64 DROP_WHEN_FULL=0 TIME_AT_RESET=48'd$late" ;;
    drops) echo "SLOTS=32 WORKERS=32 JOBS=1 WEIGHTS=0 BUFFER_BEATS=128 DROP_WHEN_FULL=1 TIME_AT_RESET=48'd0" ;;
  esac
}
defines_of() {
  sizes_of "$1" | tr ' ' '\n' | sed -n "s/48'd//; s/^\(WEIGHTS\|BUFFER_BEATS\|DROP_WHEN_FULL\|TIME_AT_RESET\)=/-DCHECK_&/p"
}

# compile <folder> <top> <flags of the compiler> <source>...: the program <folder>/run, of what Verilator wrote there.
of=""
compile() {
  folder=$1 top=$2 flags=$3
  shift 3
  make -s -j "$jobs" -C "$folder" -f "V$top.mk" OPT_FAST=-O2 CXX="$cxx" OBJCACHE="$launcher" "V$top"__ALL.a verilated.o \
    verilated_threads.o > "$folder/make.log" 2>&1 || { cat "$folder/make.log" && return 1; }
  for source in "$@"; do  # turned into a list of objects
    object=$folder/check_$(basename "$source" .cpp).o
    # Those of a mutant are those of the device: it has the same ports.
    if [ -n "$of" ] && cmp -s "$of/V$top.h" "$folder/V$top.h"; then
      object=$of/$(basename "$object")
    else
      $launcher $cxx -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow $flags \
        -I"$root/include" -isystem "$folder" -isystem "$include" -c "$source" -o "$object" || return 1
    fi
    shift
    set -- "$@" "$object"
  done
  $cxx "$@" "$folder/V${top}__ALL.a" "$folder/verilated.o" "$folder/verilated_threads.o" -lpthread -latomic \
    -o "$folder/run"
}
# Signals without an initial value begin as noise, drawn from a seed, and so do undefined ones.
warnings=-Wall
verilate() { verilator --cc -O3 $warnings --x-assign unique --x-initial unique "$@"; }

# lanes <folder> <Verilog>: the program that compares 16 lanes.
lanes() {
  verilate --Mdir "$1" -I"$2" verilog/check/lanes_16.sv || return 1
  compile "$1" lanes_16 "" "$here/check/lanes.cpp"
}
# device <folder> <Verilog> <which>: the program that compares the device.
device() {
  parameters=""
  for size in $(sizes_of "$3"); do parameters="$parameters -G$size"; done
  verilate --Mdir "$1" -I"$2" $parameters -GTICK_CYCLES=$tick -GLEASE_MS=$lease "$2/summing_nic.sv" || return 1
  compile_device "$1" "$3"
}
compile_device() {
  compile "$1" summing_nic \
    "-DCHECK_TICK_CYCLES=$tick -DCHECK_LEASE_MS=$lease $(defines_of "$2")" \
    "$here/check/device.cpp" "$here/check/throw_packets.cpp" "$here/check/do_work.cpp"
}

lint() {
  verilator --lint-only -Wall -Iverilog verilog/summing_nic.sv
  for which in waits drops; do
    parameters=""
    for size in $(sizes_of "$which"); do parameters="$parameters -G$size"; done
    verilator --lint-only -Wall -Iverilog $parameters verilog/summing_nic.sv
  done
  parameters_are_checked
  if command -v yosys > /dev/null; then
    yosys -q -p "hierarchy -check -top summing_nic -chparam SLOTS 16 -chparam WORKERS 8; proc; check -assert" \
      verilog/*.sv > yosys.log 2>&1 || { cat yosys.log && return 1; }
    echo "lint: nothing is found"
  else
    echo "lint: Verilator finds nothing; what Yosys checks is left out, there is none (Debian: yosys)"
  fi
}
# Invalid parameters are refused by name.
parameters_are_checked() {
  for wrong in SLOTS=8 SLOTS=48 SLOTS=65536 WORKERS=4 WORKERS=24 WORKERS=64 JOBS=3 JOBS=32 WEIGHTS=1 WEIGHTS=12 \
    BUFFER_BEATS=32 BUFFER_BEATS=96 LEASE_MS=0 LEASE_MS=65536 TICK_CYCLES=0 DROP_WHEN_FULL=2; do
    ! verilator --lint-only -Iverilog "-G$wrong" verilog/summing_nic.sv > refused.log 2>&1 ||
      { echo "lint: $wrong is taken" && return 1; }
    grep -q "${wrong%=*} is ${wrong#*=}: it must be" refused.log ||
      { cat refused.log && echo "lint: $wrong is not refused by name" && return 1; }
  done
}

# The device as gates and memories.
netlist() {
  command -v yosys > /dev/null || { echo "netlist: left out, there is no Yosys (Debian: yosys)" && return; }
  mkdir -p netlist
  rm -f netlist/netlist.v
  parameters="-chparam TICK_CYCLES $tick -chparam LEASE_MS $lease"
  for size in $(sizes_of waits); do parameters="$parameters -chparam ${size%=*} ${size#*=}"; done
  yosys -q -l netlist/yosys.log -b "verilog -noattr" -o netlist/netlist.v -p "
    hierarchy -check -top summing_nic $parameters; proc; flatten; opt; check -assert; fsm;
    opt; wreduce; peepopt; opt_clean; alumacc; share; opt; memory -nomap; opt_clean; opt -fast -full; techmap; opt -fast;
    abc -fast -lut 6; opt_clean; rename -top summing_nic" verilog/*.sv > /dev/null 2>&1 ||
    { tail -n 20 netlist/yosys.log && echo "netlist: Yosys failed" && return 1; }
  # The output of Yosys need not pass the lint.
  warnings="-Wno-lint -Wno-fatal"
  verilate --output-split 20000 --Mdir netlist --top-module summing_nic \
    netlist/netlist.v 2> netlist/verilator.log
  compile_device netlist waits
  echo "netlist:"
  netlist/run --frames "$1" --seed "$seed"
}

# Each script in check/mutants is one slip in the file that its name begins with, and must be found: by what finds
# nothing in the Verilog without it.
mutants() {
  missed=""
  lanes lanes verilog
  lanes/run --pairs 1e7 --seed "$seed"
  device waits verilog waits
  waits/run --frames 1e5 --seed "$seed"
  device drops verilog drops
  drops/run --frames 1e4 --seed "$seed"
  warnings=-Wno-lint  # a slip may leave a signal without use
  for script in verilog/check/mutants/*.sed; do
    name=$(basename "$script" .sed)
    file=${name%%.*}.sv
    mutant=mutants/$name
    rm -rf "$mutant"
    mkdir -p "$mutant/rtl"
    cp verilog/*.sv "$mutant/rtl"
    sed -f "$script" "verilog/$file" > "$mutant/rtl/$file"
    ! cmp -s "verilog/$file" "$mutant/rtl/$file" || { echo "mutants: $name changes nothing" && exit 1; }
    builds=yes
    case $file in
      lane.sv | float32_add.sv | float32_multiply.sv)
        of=lanes run="--pairs 1e7"
        lanes "$mutant" "$mutant/rtl" > "$mutant/log" 2>&1 || builds=no
        ;;
      *)
        which=waits
        [ "$name" != receive.drops_too_early ] || which=drops
        of=$which run="--frames 1e5"
        device "$mutant" "$mutant/rtl" $which > "$mutant/log" 2>&1 || builds=no
        ;;
    esac
    [ $builds = yes ] || { cat "$mutant/log" && echo "mutants: $name does not build" && exit 1; }
    if "$mutant/run" $run --seed "$seed" > "$mutant/log" 2>&1; then
      missed="$missed $name"
    elif reason=$(grep -m 1 -E '^(lanes|device): ' "$mutant/log"); then
      echo "mutants: $name is found: $(printf '%s' "$reason" | cut -c 1-100)"
    else
      tail -n 5 "$mutant/log" && echo "mutants: $name ended the bench, which did not say why" && exit 1
    fi
    rm -rf "$mutant"
  done
  [ -z "$missed" ] || { echo "mutants: not found:$missed" && return 1; }
}

case $what in
  mutants)
    mutants
    exit
    ;;
  netlist)
    netlist "$frames"
    exit
    ;;
esac

lint
lanes lanes verilog
lanes/run --pairs "$pairs" --seed "$seed"
device waits verilog waits
waits/run --frames "$frames" --worked "$worked" --seed "$seed"
device drops verilog drops
drops/run --frames "$dropped" --seed "$seed" --workers 2 32
if [ "$full" = yes ]; then
  netlist 1e5
  mutants
fi
