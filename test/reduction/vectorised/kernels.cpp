// SPDX-License-Identifier: Apache-2.0
//
// The kernels that check.sh checks. This file is compiled, not run.
#include <tutti/bfloat16.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>
#include <tutti/reduction/logical.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <complex>

namespace tutti::inline v0_1_0::detail {

using operand = std::byte const*;
using result = std::byte*;

/// A user's function.
struct damp {
  float operator()(float a, float b) const { return a * 0.5F + b; }
};

template void fold(sum<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<double> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<signed char> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<short> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<int> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<long> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<short> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(min<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(min<double> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(max<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(min<int> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(max<unsigned char> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(mean<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(logical_or<int> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(bit_xor<unsigned> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(saturating_sum<int> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(fixed_point_sum const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<long> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<std::complex<float>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<std::complex<float>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<half> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(sum<bfloat16> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(accumulate_in<float, sum<half>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(functor<float, damp> const&, fold_kind, operand, operand, result, std::size_t, rank_type);

}  // namespace tutti::detail
