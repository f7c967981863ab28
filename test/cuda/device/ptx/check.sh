#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the groups of threads of cuda/detail/device for a GPU (sm_90), and reads the code: N inputs must be N loads
# of 16 bytes and one such store, with nothing in local memory. For nvcc it also reads the report of ptxas: no kernel
# spills registers, or takes more than 128. A clang does the first check without any vendor's headers; nothing is run.
#
# nvcc also compiles the public headers in one source without a warning. Left out are the trainer's, as nvcc crashes in
# oneDNN's, and headers of libraries that may be missing.
#
#   sh check.sh <nvcc or clang++> <include folder>
set -eu
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:?usage: check.sh <nvcc or clang++> <include folder>}
include=${2:?usage: check.sh <nvcc or clang++> <include folder>}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $(basename "$compiler") in
  nvcc*)
    flags="-std=c++20 --expt-relaxed-constexpr -arch=sm_90 -Werror all-warnings"
    compile() {  # for the device alone
      "$compiler" $flags -O3 -Xptxas -v --keep --keep-dir "$work" -cubin -o "$work/code.cubin" "$@" 2>&1
    }
    refused="$compiler makes no code for sm_90 of C++20 (CUDA 13 does)"
    ;;
  *)
    compile() {
      "$compiler" -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib -Wno-unknown-cuda-version \
        -std=c++20 -O3 -fno-unroll-loops -mllvm -inline-threshold=100000 -S -o "$work/kernels.ptx" "$@" 2>&1
    }
    refused="$compiler makes no code for a GPU of sm_90 (Debian: clang-16)"
    ;;
esac
echo '__attribute__((global)) void empty() {}' > "$work/empty.cu"
compile "$work/empty.cu" > "$work/log" || { cat "$work/log" && echo "SKIP: $refused" && exit 77; }

compile -I"$include" "$here/kernels.cu" > "$work/log" || { cat "$work/log" && exit 1; }
awk '
  /\.entry/ { name = $0; sub(/.*\.entry _Z[A-Z]*/, "", name); sub(/\($/, "", name); next }
  /^}/ { name = "" }
  name == "" { next }
  name ~ /7combine/ && /ld(\.global)?\.(v4\.[fub]32|v2\.[fub]64)/ { ++loads[name] }
  name ~ /7combine/ && /st(\.global)?\.(v4\.[fub]32|v2\.[fub]64)/ { ++stores[name] }
  name ~ /7combine/ && /\.local/ { ++spilt[name] }
  { ++lines[name] }
  END {
    for (n in lines) {
      ++kernels
      if (n !~ /7combine/) continue
      ++combines
      wanted = n ~ /Lj8E/ ? 8 : 2
      if (loads[n] != wanted || stores[n] != 1 || spilt[n] != 0) {
        printf "%s: %d loads and %d stores of 16 bytes, %d uses of local memory, where %d, 1 and 0 are expected\n",
          n, loads[n], stores[n], spilt[n], wanted
        ++wrong
      }
    }
    if (combines != 12 || kernels != 24) { printf "%d kernels, %d of them combine: not 24 and 12\n", kernels, combines; ++wrong }
    if (wrong) exit 1
    printf "%d kernels are compiled; %d combine 2 or 8 inputs by as many loads of 16 bytes\n", kernels, combines
  }' "$work/kernels.ptx"

case $(basename "$compiler") in
  nvcc*)
    (cd "$include" && find tutti -name '*.hpp' | grep -vE '^tutti/(nn/|mpi.hpp|verbs/|([a-z_]+/)?detail/)' | LC_ALL=C sort) |
      sed 's/.*/#include <&>/' > "$work/headers.cu"
    "$compiler" $flags -I"$include" -cuda -o "$work/headers.ii" "$work/headers.cu" > "$work/headers.log" 2>&1 ||
      { cat "$work/headers.log" && exit 1; }
    echo "$(grep -c . "$work/headers.cu") public headers are taken in one source"

    # Registers reported by ptxas.
    awk '
      /Compiling entry function/ { name = $0; sub(/.*function ./, "", name); sub(/. for.*/, "", name) }
      /stack frame/ { ++seen; if ($1 + $5 + $9 != 0) { print name ": " $0; ++wrong } }
      /Used [0-9]+ registers/ {
        used = $0; sub(/.*Used /, "", used); used += 0
        if (used > most) most = used
        if (used > 128) { print name ": " used " registers"; ++wrong }
      }
      END {
        if (seen != 24) { printf "ptxas reports on %d kernels, not 24\n", seen; ++wrong }
        if (wrong) exit 1
        printf "no kernel spills registers; they take at most %d\n", most
      }' "$work/log"
    ;;
esac
