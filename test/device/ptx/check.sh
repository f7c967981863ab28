#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the groups of threads of detail/device for a GPU (sm_90), and reads the code: N inputs must be N loads of 16
# bytes and one store of as many, and nothing may lie in a thread's local memory. A clang does that without any vendor's
# headers; nothing is run.
#
#   sh check.sh <clang++> <include folder>
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${1:?usage: check.sh <clang++> <include folder>} include=${2:?usage: check.sh <clang++> <include folder>}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo '__attribute__((global)) void empty() {}' > "$work/empty.cu"
compile() {
  "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib -Wno-unknown-cuda-version -std=c++20 \
    -O3 -fno-unroll-loops -mllvm -inline-threshold=100000 -S -o "$work/code.ptx" "$@"
}
compile "$work/empty.cu" > "$work/log" 2>&1 ||
  { cat "$work/log" && echo "SKIP: $clang makes no code for a GPU of sm_90 (Debian: clang-16)" && exit 77; }

compile -I"$include" "$here/kernels.cu"
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
  }' "$work/code.ptx"
