// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/settings.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

/// Which samples each rank has for good; every sample belongs to one rank. A function of its arguments, the same on
/// every platform.
///
/// By labels, the samples, in the order of their labels, are cut into twice as many shards as there are ranks, and
/// each rank is given two of them: with ten ranks or more, images of about two of ten classes. (McMahan et al.,
/// "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017, section 3: "pathological
/// non-IID")
/// @pre how is not shared
[[nodiscard]] TUTTI_DECL std::vector<std::vector<std::uint32_t>> partition(std::span<std::uint8_t const> labels,
                                                                           ownership how, rank_type ranks,
                                                                           std::uint64_t seed);

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/partition.ipp>
#endif
