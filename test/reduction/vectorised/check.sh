#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Are the span kernels of the shipped reductions vectorised at -O2? Looks for the packed instruction
# that each needs in what the compiler made of its kernels.
#
#     sh check.sh <c++ compiler> <include directory>
#
# Ends with 77 (skipped) where the instructions are not those of x86-64 or there is no objdump.
set -eu
compiler=$1
include=$2
here=$(dirname "$0")

case $(uname -m) in
  x86_64 | amd64) ;;
  *) echo "not an x86-64 machine"; exit 77 ;;
esac
command -v objdump > /dev/null || { echo "no objdump"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c++20 -O2 -DNDEBUG -I"$include" -c "$here/kernels.cpp" -o "$work/kernels.o"
objdump -d -C --no-show-raw-insn "$work/kernels.o" > "$work/listing"

failed=0
# needs <reduction> <extended regular expression of mnemonics>: in a function named for the reduction
needs() {
  if ! awk -v wanted="tutti::$1" '/>:$/ { of = index($0, wanted) != 0 } of' "$work/listing" |
    grep -Eq "[[:space:]]v?($2)[[:space:]]"; then
    echo "$1: no $2"
    failed=1
  fi
}
needs 'sum<float>' addps
needs 'sum<float>' 'cmp(un)?ordps|cmpn?eqps'  # NaNs made canonical in the same loop
needs 'sum<double>' addpd
needs 'sum<signed char>' paddb
needs 'sum<short>' paddw
needs 'sum<int>' paddd
needs 'sum<long>' paddq
needs 'prod<float>' mulps
needs 'prod<short>' pmullw
needs 'min<float>' 'minps|cmpltps'
needs 'min<double>' 'minpd|cmpltpd'
needs 'max<float>' 'minps|maxps|cmpltps'
needs 'min<int>' 'pminsd|pcmpgtd'
needs 'max<unsigned char>' pmaxub
needs 'mean<float>' divps
needs 'logical_or<int>' 'por|pcmpeqd'
needs 'bit_xor<unsigned int>' 'pxor|xorps'
[ $failed -eq 0 ] && echo "all kernels are vectorised"
exit $failed
