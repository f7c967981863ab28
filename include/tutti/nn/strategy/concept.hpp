// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>

#include <concepts>
#include <span>

namespace tutti::nn {

/// How the replicas of a model stay in step. The trainer knows ranks through this alone.
///
/// `share` replaces the numbers on every rank by those of rank 0. `sum` replaces them by their sums
/// over all ranks, with the same bits everywhere: replicas that start equal then stay equal.
template <class S>
concept strategy = requires(S& s, S const& c, std::span<float> numbers) {
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { s.share(numbers) } -> std::same_as<void>;
  { s.sum(numbers) } -> std::same_as<void>;
};

}  // namespace tutti::nn
