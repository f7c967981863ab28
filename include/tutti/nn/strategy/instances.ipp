// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bfloat16.hpp>
#include <tutti/extend/binned_sum.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/detail/compression/conversion.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/fixed_point.hpp>
#include <tutti/nn/strategy/synchronous/reproducible.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/reduction/accumulate_in.hpp>

#include <cstdint>
#include <span>

// The instances of the strategies' reductions, compiled here if TUTTI_SEPARATE_COMPILATION is defined: their code is
// the same for all transports. Otherwise nothing includes this file.
namespace tutti::inline v0_1_0 {

template struct detail::payload::code_of<sum<half>>;
template struct detail::payload::code_of<sum<bfloat16>>;
template struct detail::payload::code_of<accumulate_in<float, sum<half>>>;
template struct detail::payload::code_of<accumulate_in<float, sum<bfloat16>>>;
template struct detail::payload::code_of<fixed_point_sum>;
template struct detail::payload::code_of<reproducible_sum<binned_sum, float>>;
template struct detail::payload::code_of<max<std::uint64_t>>;

}  // namespace tutti

namespace tutti::inline v0_1_0::nn::detail::inline compression {

template void narrow(std::span<float const>, std::span<half>);
template void narrow(std::span<float const>, std::span<bfloat16>);
template void widen(std::span<half const>, std::span<float>);
template void widen(std::span<bfloat16 const>, std::span<float>);

}  // namespace tutti::nn::detail::compression
