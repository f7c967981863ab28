// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tutti::nn {

/// How the replicas of a model stay in step. The trainer knows ranks through this alone.
///
/// `share` replaces the numbers on every rank by those of rank 0. `sum` replaces them by their sums
/// over all ranks, with the same bits everywhere: replicas that start equal then stay equal.
///
/// `begin`, `completed` and `finish` are a sum of numbers that are still being computed: `begin` says where
/// they will be, `completed(first)`, called as often as one likes, that those from `first` to the end are
/// final and now the strategy's, `finish` that all are; it returns when they are the sums. `completed`
/// never waits.
template <class S>
concept strategy = requires(S& s, S const& c, std::span<float> numbers, std::size_t first) {
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { s.share(numbers) } -> std::same_as<void>;
  { s.sum(numbers) } -> std::same_as<void>;
  { s.begin(numbers) } -> std::same_as<void>;
  { s.completed(first) } -> std::same_as<void>;
  { s.finish() } -> std::same_as<void>;
};

}  // namespace tutti::nn
