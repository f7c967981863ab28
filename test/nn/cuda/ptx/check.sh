#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the trainer's kernels for a GPU (sm_90), and reads the report of ptxas and the code. No kernel may spill
# registers, use local memory, take more than 128 registers, or sum by atomic operations, whose order varies. Kernels
# bound by memory bandwidth must move 16 bytes at a time. Nothing is run.
#
#   sh check.sh <nvcc> <include folder>
set -eu
nvcc=${1:?usage: check.sh <nvcc> <include folder>}
include=${2:?usage: check.sh <nvcc> <include folder>}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$nvcc" -std=c++20 --expt-relaxed-constexpr -arch=sm_90 -O3 -Werror all-warnings -Xptxas -v --keep --keep-dir "$work" \
  -I"$include" -cubin -o "$work/code.cubin" "$include/tutti/nn/cuda/cuda.cu" > "$work/log" 2>&1 ||
  { cat "$work/log" && exit 1; }

awk '
  /Compiling entry function/ { name = $0; sub(/.*function ./, "", name); sub(/. for.*/, "", name) }
  /stack frame/ { ++seen; if ($1 + $5 + $9 != 0) { print name ": " $0; ++wrong } }
  /Used [0-9]+ registers/ {
    used = $0; sub(/.*Used /, "", used); used += 0
    if (used > most) most = used
    if (used > 128) { print name ": " used " registers"; ++wrong }
  }
  END {
    if (seen < 100) { printf "ptxas reports on %d kernels only\n", seen; ++wrong }
    if (wrong) exit 1
    printf "no kernel of %d spills registers; they take at most %d\n", seen, most
  }' "$work/log"

awk '
  /\.entry/ { name = $0; sub(/.*\.entry /, "", name); sub(/\($/, "", name); next }
  /^}/ { name = "" }
  name == "" { next }
  /[ \t](atom|red)\./ { print name ": " $0; ++wrong }
  { ++lines[name] }
  /ld(\.global)?(\.nc)?\.(v4\.[fub]32|v2\.[fub]64)/ { ++loads[name] }
  /st(\.global)?\.(v4\.[fub]32|v2\.[fub]64)/ { ++stores[name] }
  END {
    for (n in lines) {
      # Kernels on packs: on columns only those on 4 floats or 8 other numbers, and all element by element.
      packed = n ~ /7columnsILm[48]E/ || n ~ /11pool_imagesILm[48]E/ || n ~ /18differentiate_poolILm[48]E/ ||
               n ~ /12drop_numbersILm[48]E/ || n ~ /8elementsI/
      if (!packed) continue
      ++kernels
      # The narrower side of a conversion moves fewer bytes.
      if (loads[n] + stores[n] == 0) { printf "%s: nothing is moved by 16 bytes\n", n; ++wrong }
    }
    if (kernels < 70) { printf "%d kernels of packs only\n", kernels; ++wrong }
    if (wrong) exit 1
    printf "%d kernels move 16 bytes at a time; none sums by atomic operations\n", kernels
  }' "$work"/*.ptx
