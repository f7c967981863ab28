// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL layout::layout(std::vector<parameter_range> const& ranges, std::size_t servers, layer_division division)
    : shard_begins_(servers + 1) {
  std::size_t const keys = ranges.empty() ? 0 : ranges.back().offset + ranges.back().size;
  expects(servers >= 1, "parameter server: at least one server must hold the parameters; ask for 1 server or more");
  expects(servers <= keys, "parameter server: ", servers, " servers are more than the ", keys,
          " parameters; ask for fewer servers");
  expects(division == layer_division::divisible || servers <= ranges.size(), "parameter server: ", servers,
          " servers are more than the ", ranges.size(),
          " layers with parameters, which this optimizer keeps whole; ask for fewer servers");
  shard_begins_.back() = keys;
  for (std::size_t k = 1; k < servers; ++k) {
    shard_begins_[k] = shard_begin(ranges, k, servers, keys, division);
  }
  for (std::size_t k = 0; k != servers; ++k) {
    first_piece_.push_back(pieces_.size());
    for (auto const& [offset, size, decay_exemptions] : ranges) {
      std::size_t const end = offset + size;
      if (auto const part = intersection(shard(k), {offset, end}); part.size() != 0) {
        pieces_.push_back(part);
        decay_exemptions_.push_back(intersection(part, {end - decay_exemptions, end}).size());
      }
    }
  }
  first_piece_.push_back(pieces_.size());
}

TUTTI_DECL std::size_t layout::server_of(std::size_t key) const noexcept {
  auto const next_begin = std::upper_bound(shard_begins_.begin(), shard_begins_.end() - 1, key);
  return static_cast<std::size_t>(next_begin - shard_begins_.begin()) - 1;
}

TUTTI_DECL std::size_t layout::shard_begin(std::vector<parameter_range> const& ranges, std::size_t k,
                                           std::size_t servers, std::size_t keys,
                                           layer_division division) const noexcept {
  std::size_t const ideal = keys / servers * k + keys % servers * k / servers;
  auto const distance = [ideal](std::size_t border) { return border < ideal ? ideal - border : border - ideal; };
  std::size_t const previous = shard_begins_[k - 1];
  std::size_t best = keys;
  for (std::size_t i = 0; i != ranges.size(); ++i) {
    std::size_t const border = ranges[i].offset;
    bool const leaves_enough = ranges.size() - i >= servers - k || division == layer_division::divisible;
    if (border > previous && leaves_enough && (best == keys || distance(border) < distance(best))) {
      best = border;
    }
  }
  bool const fits = best != keys && distance(best) <= keys / servers / 8 && keys - best >= servers - k;
  return division == layer_division::whole || fits ? best : (std::max)(ideal, previous + 1);
}

}  // namespace tutti::nn::parameter_server::detail
