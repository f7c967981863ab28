#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that compilers vectorise the span kernels in a program for any x86-64, with -O2 and -O3. Looks for the packed
# instruction that each kernel needs, in the code of each instruction set. Also compares the numbers of packed and scalar
# instructions: the loop over whole blocks must be vectorised, not only the rest. In products.cpp no product may be fused
# with a sum, even if the flags of the program allow it.
#
#     sh check.sh <c++ compiler> <include directory>
#
# Ends with 77 (skipped) on other processors than x86-64, or without objdump.
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

failed=0
# look <functions> <reduction> <instruction>: functions and instruction are extended regular expressions
look() {
  if ! awk -v name="$1" -v of="$2" '/>:$/ { in_it = $0 ~ name && index($0, of) != 0 } in_it' "$work/listing" |
    grep -Eq "$3"; then
    echo "$2: no $3 in $1 ($level)"
    failed=1
  fi
}
# mostly <reduction> <packed mnemonic> <scalar mnemonic>
mostly() {
  for set in run_avx2 run_avx512; do
    for kind in "$2" "$3"; do
      awk -v name="$set" -v of="tutti::$1" '/>:$/ { in_it = $0 ~ name && index($0, of) != 0 } in_it' "$work/listing" |
        grep -Ec "[[:space:]]v$kind[[:space:]]" > "$work/$kind" || true
    done
    if [ "$(cat "$work/$3")" -gt $((2 * $(cat "$work/$2"))) ]; then
      echo "$1: $(cat "$work/$3") times $3, $(cat "$work/$2") times $2 in $set ($level)"
      failed=1
    fi
  done
}
# needs <reduction> <mnemonics>: checks the baseline kernels
needs() { look 'tutti::detail::reduction::(run|fold)<' "tutti::$1" "[[:space:]]v?($2)[[:space:]].*xmm"; }
# wide <reduction> <mnemonics>: checks the kernels for AVX2 and for AVX-512
wide() {
  look run_avx2 "$1" "[[:space:]]v($2)[[:space:]].*ymm"
  look run_avx512 "$1" "[[:space:]]v($2)[[:space:]].*zmm"
}
for level in -O2 -O3; do
  "$compiler" -std=c++20 $level -DNDEBUG -I"$include" -c "$here/kernels.cpp" -o "$work/kernels.o"
  # Removes the inline namespace of the version.
  objdump -d -C --no-show-raw-insn "$work/kernels.o" | sed "s/tutti::v[0-9_]*::/tutti::/g" > "$work/listing"

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
  needs 'saturating_sum<int>' paddd
  needs 'bit_xor<unsigned int>' 'pxor|xorps'
  wide 'sum<float>' addps
  wide 'sum<double>' addpd
  wide 'sum<signed char>' paddb
  wide 'prod<float>' mulps
  wide 'min<float>' minps
  wide 'min<int>' pminsd
  wide 'saturating_sum<int>' paddd
  wide 'fixed_point_sum' mulpd
  wide 'fixed_point_sum' divpd
  wide 'bit_xor<unsigned int>' 'pxord?|xorps'
  wide 'sum<std::complex<float> >' addps
  look run_avx2 'prod<std::complex<float> >' 'vmulps.*ymm'
  look run_avx512 'prod<long>' 'vpmullq.*zmm'  # AVX2 has none
  look run_avx2 'sum<tutti::half>' 'vcvtph2ps.*ymm'
  look run_avx2 'sum<tutti::half>' 'vcvtps2ph'
  look run_avx2 'sum<tutti::bfloat16>' 'vaddps.*ymm'
  look run_avx2 'accumulate_in<float, tutti::sum<tutti::half> >' 'vcvtph2ps.*ymm'
  look run_avx2 'accumulate_in<float, tutti::sum<tutti::half> >' 'vcvtps2ph'
  look run_avx2 'sum<float>' vmovntps  # long results bypass the caches
  look run_avx2 'functor<float, tutti::detail::damp>' 'vmulps.*ymm'
  mostly 'sum<float>' addps addss
  mostly 'sum<double>' addpd addsd
  mostly 'prod<float>' mulps mulss
  mostly 'mean<float>' addps addss
  mostly 'fixed_point_sum' divpd divsd
  if grep -q vfm "$work/listing"; then
    echo "fused multiply-add: bits that depend on the processor"
    failed=1
  fi
done
# Products are not fused even in programs for processors with fused multiply-add.
for flags in "-O3 -mfma" "-O2 -mavx512f" "-O3 -mavx512f"; do
  # shellcheck disable=SC2086 # several words
  if ! "$compiler" -std=c++20 $flags -DNDEBUG -I"$include" -c "$here/products.cpp" -o "$work/products.o"; then
    failed=1
    continue
  fi
  objdump -d -C --no-show-raw-insn "$work/products.o" > "$work/listing"
  if ! grep -q vmul "$work/listing"; then
    echo "no product in products.cpp ($flags)"
    failed=1
  fi
  if grep -Eq '[[:space:]]vfn?m' "$work/listing"; then
    echo "fused products: bits that depend on the order of the operands ($flags)"
    failed=1
  fi
done
[ $failed -eq 0 ] && echo "all kernels are vectorised"
exit $failed
