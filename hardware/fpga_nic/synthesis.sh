#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Says what the device in hardware takes of an FPGA, as far as free tools can: see usage.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh synthesis.sh [option...]

Installs what is missing (Debian, Ubuntu: yosys, nextpnr-ice40, fpga-icestorm), and prints tables:

  1. look-up tables, flip-flops, memories and multipliers of a lane and of the device for some families, as Yosys maps
     them, and the longest path through their cells, without wires (Yosys knows no delays of UltraScale+)
  2. one lane, placed and routed on an iCE40 (HX8K) by nextpnr, with the frequency that icetime gives for it
  3. the clocks that a packet takes, if the model is built (see README.md), and the clock that links of 10, 25 and
     100 Gbit/s need

It claims no frequency of the device on any FPGA: to say that needs a vendor's tools.

  --module NAME  only this module in the first table: lane, summing_nic, or any other; may be repeated
  --family NAME  only this family: xc7 (7 series), xcup (UltraScale+), ecp5; may be repeated
  --slots N      of the device, 512
  --weights N    blocks of weights that it holds, 0
  --no-placement without the second table
  --no-clocks    without the third table
  --cycles FILE  the program that counts clocks; if not given, build/dev/hardware/fpga_nic/cycles_nic, or that in
                 build/hardware
  --help         this text
TEXT
}

modules="" families="" slots=512 weights=0 placement=yes clocks=yes cycles=""
while [ $# -gt 0 ]; do
  case $1 in
    --module) modules="$modules ${2:?--module needs a name}" && shift ;;
    --family) families="$families ${2:?--family needs a name}" && shift ;;
    --slots) slots=${2:?--slots needs a number} && shift ;;
    --weights) weights=${2:?--weights needs a number} && shift ;;
    --no-placement) placement=no ;;
    --no-clocks) clocks=no ;;
    --cycles) cycles=${2:?--cycles needs a file} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && fail "unknown option $1" ;;
  esac
  shift
done
if [ -n "$cycles" ]; then
  [ -x "$cycles" ] || fail "--cycles $cycles: there is no such program (cmake --build build/dev --target cycles_nic)"
  cycles=$(cd "$(dirname "$cycles")" && pwd)/$(basename "$cycles")
fi
[ -n "$modules" ] || modules="lane summing_nic"

command -v yosys > /dev/null && command -v nextpnr-ice40 > /dev/null && command -v icetime > /dev/null ||
  install_missing build synthesis >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# yosys_run <commands...>: one after another; what it says is kept.
yosys_run() {
  printf '%s\n' "$@" > script
  yosys -q -l log -s script "$here"/*.sv > /dev/null 2>&1 || { tail -n 20 log >&2 && fail "Yosys has failed"; }
}

# synthesise <module> <family>: the cells are in $work/cells then, the longest path in $work/path.
synthesise() {
  top="hierarchy -check -top $1"
  [ "$1" != summing_nic ] || top="$top -chparam SLOTS $slots -chparam WEIGHTS $weights"
  case $2 in
    xc7)
      map="synth_xilinx -family xc7 -flatten -noiopad -noclkbuf" library=+/xilinx/cells_sim.v
      # Yosys 0.23 ends in an exception with -abc9, which looks at delays, where it has put memory into LUTs of xc7.
      [ "$1" = summing_nic ] || map="$map -abc9"
      ;;
    xcup) map="synth_xilinx -family xcup -uram -flatten -abc9 -noiopad -noclkbuf" library=+/xilinx/cells_sim.v ;;
    ecp5) map="synth_ecp5 -abc9" library=+/ecp5/cells_sim.v ;;
    *) fail "--family $2: there are xc7, xcup and ecp5" ;;
  esac
  yosys_run "$top" "check -assert" "$map -top $1" "check -assert" "tee -o cells stat" \
    "read_verilog -lib -specify $library" "tee -o path sta"
}

# row_of <module> <family>: what has been synthesised, as a row.
row_of() {
  picoseconds=$(sed -n 's/^Latest arrival time in .* is \([0-9]*\):$/\1/p' "$work/path")
  awk -v module="$1" -v family="$2" -v ps="$picoseconds" '
    /Number of cells:/ { cells = 1; split("", n) }
    cells && NF == 2 { count[$1] = $2 }
    function sum(pattern,   c, all) {
      for (c in count) if (c ~ pattern) all += count[c]
      return all + 0
    }
    END {
      blocks = (sum("^RAMB36") + sum("^RAMB18") / 2) " RAMB36"
      if (family == "ecp5") blocks = sum("^(PD|D)P16KD$") " DP16KD"
      printf "| %s | %s | %d | %d | %d | %d | %s | %d | %d | %s |\n", module, family, sum("^LUT[1-6]$"),
        sum("^FD|^TRELLIS_FF$"), sum("^SRL|^RAM[0-9]+(M|X1)|^TRELLIS_DPR"), sum("^(CARRY|CCU2C)"), blocks,
        sum("^URAM"), sum("^DSP|^MULT"),
        family == "xcup" ? "" : sprintf("%.1f", ps / 1000)  # Yosys knows no delays of xcup
    }' "$work/cells"
}

say "Cells, as Yosys maps them; ns: the longest path through cells, without wires"
echo "| module | family | LUT | FF | memory in LUTs, cells | carry cells | block RAM | URAM | DSP | ns |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for module in $modules; do
  others=""
  [ "$module" = summing_nic ] || others=ecp5  # its chips lack the memory for the device
  for family in ${families:-xc7 xcup $others}; do
    synthesise "$module" "$family"
    row_of "$module" "$family"
  done
done

if [ "$placement" = yes ]; then
  yosys_run "synth_ice40 -top lane -json lane.json" "check -assert"
  nextpnr-ice40 --hx8k --package ct256 --json "$work/lane.json" --asc "$work/lane.asc" --freq 50 --seed 1 \
    --pcf-allow-unconstrained --timing-allow-fail > "$work/log" 2>&1 || { tail -n 20 "$work/log" >&2 && fail "nextpnr has failed"; }
  say "One lane on an iCE40 HX8K, placed and routed by nextpnr, seed 1"
  sed -n 's/^Info:[[:space:]]*ICESTORM_LC:[[:space:]]*\([0-9]*\)\/.*/\1 logic cells/p' "$work/log" | tail -n 1
  icetime -d hx8k -mt "$work/lane.asc" | sed -n 's/^Total path delay: /icetime: /p'
fi

[ "$clocks" = yes ] || exit 0
for candidate in "$root/build/dev/hardware/fpga_nic/cycles_nic" \
  "$root/build/hardware/hardware/fpga_nic/cycles_nic"; do
  [ -n "$cycles" ] || [ ! -x "$candidate" ] || cycles=$candidate
done
if [ -z "$cycles" ]; then
  say "The third table is left out: cycles_nic is not built (cmake --build build/dev --target cycles_nic)"
  exit 0
fi
# A packet of 1024 bytes of elements is a frame of 1088, and takes 1112 of the time of a link: check sequence, preamble,
# gap. The terms of an update are 16 bytes more.
say "Clocks for a packet of 1024 bytes of elements, of an update with its terms, simulated; MHz that links need"
"$cycles" > "$work/clocks" || fail "$cycles has failed"
awk 'NR == 1 {
       print "| operation | workers | order | clocks | 10 Gbit/s | 25 Gbit/s | 100 Gbit/s |"
       print "| --- | --- | --- | --- | --- | --- | --- |"
       next
     }
     {
       printf "| %s | %d | %s | %.2f |", $1, $2, $3, $4
       for (rate = 10000; rate; rate = rate == 10000 ? 25000 : rate == 25000 ? 100000 : 0)
         printf " %.0f |", $4 * rate / (($1 == "update" ? 1128 : 1112) * 8)
       print ""
     }' "$work/clocks"
