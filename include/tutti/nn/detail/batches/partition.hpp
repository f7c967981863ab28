// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/settings.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

/// Assigns each sample to one rank for the whole training. A function of its arguments, equal on every platform.
///
/// With ownership::labels the samples are sorted by label and divided into twice as many shards as there are ranks;
/// each rank receives two of them: with ten ranks or more, images of about two of ten classes. (McMahan et al.,
/// "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017, section 3:
/// "pathological non-IID")
/// @pre the ownership is not shared
[[nodiscard]] TUTTI_DECL std::vector<std::vector<std::uint32_t>> partition(std::span<std::uint8_t const> labels,
                                                                           ownership ownership, rank_type ranks,
                                                                           std::uint64_t seed);

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/partition.ipp>
#endif
