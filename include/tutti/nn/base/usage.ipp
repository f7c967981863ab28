// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/usage.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL void usage_bin::add(usage_bin const& other, double share) noexcept {
  seconds += share * other.seconds;
  computing += share * other.computing;
  updating += share * other.updating;
  bytes_sent += share * other.bytes_sent;
  bytes_received += share * other.bytes_received;
  messages_sent += share * other.messages_sent;
  messages_received += share * other.messages_received;
  resident = (std::max)(resident, other.resident);
}

TUTTI_DECL usage_bin usage::sum() const {
  usage_bin total;
  for (auto const& bin : bins) {
    total.add(bin, 1);
  }
  return total;
}

TUTTI_DECL usage usage::in_spans_of(double seconds) const {
  usage result{role, seconds, {}, 0};
  for (std::size_t i = 0; i != bins.size(); ++i) {
    // Clocks of other hosts may be slightly ahead.
    double const begin = (std::max)(0.0, shift + static_cast<double>(i) * width);
    double const end = begin + (std::max)(bins[i].seconds, 1e-9);
    auto const first = static_cast<std::size_t>(begin / seconds);
    auto const last = (std::max)(first, static_cast<std::size_t>(std::ceil(end / seconds - 1e-9)) - 1);
    result.bins.resize((std::max)(result.bins.size(), last + 1));
    for (std::size_t k = first; k <= last; ++k) {
      double const overlap_begin = (std::max)(begin, static_cast<double>(k) * seconds);
      double const overlap_end = k == last ? end : static_cast<double>(k + 1) * seconds;
      result.bins[k].add(bins[i], (overlap_end - overlap_begin) / (end - begin));
    }
  }
  return result;
}

TUTTI_DECL std::vector<double> usage::to_numbers() const {
  std::vector<double> numbers{width, shift};
  for (auto const& bin : bins) {
    numbers.insert(numbers.end(), {bin.seconds, bin.computing, bin.updating, bin.bytes_sent, bin.bytes_received,
                                   bin.messages_sent, bin.messages_received, bin.resident});
  }
  return numbers;
}

TUTTI_DECL usage usage::from_numbers(std::span<double const> numbers) {
  constexpr std::size_t values_per_bin = 8;
  usage result{{}, numbers[0], {}, numbers[1]};
  for (auto rest = numbers.subspan(2); rest.size() >= values_per_bin; rest = rest.subspan(values_per_bin)) {
    result.bins.push_back({rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]});
  }
  return result;
}

TUTTI_DECL void align(std::vector<usage>& ranks) {
  double width = 1e-3;
  for (auto const& rank_usage : ranks) {
    width = (std::max)(width, rank_usage.width);
  }
  for (auto& rank_usage : ranks) {
    rank_usage = rank_usage.in_spans_of(width);
  }
}

}  // namespace tutti::nn
