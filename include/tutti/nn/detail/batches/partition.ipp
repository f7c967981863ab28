// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/detail/batches/partition.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

TUTTI_DECL std::vector<std::vector<std::uint32_t>> partition(std::span<std::uint8_t const> labels, ownership ownership,
                                                             rank_type ranks, std::uint64_t seed) {
  expects(ownership != ownership::common,
          "partition: shared images are not divided among the ranks; use ownership::iid or ownership::labels");
  constexpr std::uint64_t stream = UINT64_MAX;  // the streams of epochs and images are far below
  random_sequence random(seed, stream);
  auto const permutation = [&](std::size_t count) {
    std::vector<std::uint32_t> result(count);
    std::iota(result.begin(), result.end(), std::uint32_t{0});
    random.shuffle(std::span(result));
    return result;
  };
  auto samples = permutation(labels.size());
  std::size_t const shards_per_rank = ownership == ownership::labels ? 2 : 1;
  if (ownership == ownership::labels) {
    std::ranges::stable_sort(samples, {}, [&](std::uint32_t i) { return labels[i]; });
  }
  std::size_t const shards = shards_per_rank * ranks;
  auto const order = permutation(shards);
  std::vector<std::vector<std::uint32_t>> result(ranks);
  for (std::size_t s = 0; s != shards; ++s) {
    auto const first = samples.begin() + static_cast<std::ptrdiff_t>(block_begin(samples.size(), shards, order[s]));
    auto const last = first + static_cast<std::ptrdiff_t>(block_size(samples.size(), shards, order[s]));
    result[s / shards_per_rank].insert(result[s / shards_per_rank].end(), first, last);
  }
  return result;
}

}  // namespace tutti::nn::detail::batches
