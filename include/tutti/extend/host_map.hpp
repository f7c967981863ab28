// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The hosts of a world, and the ranks of each. Hosts are numbered in the order of their lowest ranks, and the ranks
/// of a host from 0 on in rank order.
class host_map {
 public:
  /// Constructs the map of no ranks.
  host_map() = default;

  /// Constructs the map of labels.size() ranks, from labels of any comparable type.
  /// @param labels equal for ranks of one host: labels[r] is the label of rank r
  template <class Labels>
  constexpr explicit host_map(Labels const& labels) {
    fill(labels, seats_, hosts_, sizes_);
  }

  /// The number of ranks.
  [[nodiscard]] constexpr rank_type ranks() const noexcept { return static_cast<rank_type>(seats_.size()); }
  /// The number of hosts.
  [[nodiscard]] constexpr rank_type hosts() const noexcept { return static_cast<rank_type>(hosts_.size()); }
  // Uses data(), because operator[] is not constexpr in the debug mode of libstdc++ 12.
  /// The host of rank r.
  [[nodiscard]] constexpr rank_type host(rank_type r) const noexcept { return seats_.data()[r].host; }
  /// The number of rank r among the ranks of its host.
  [[nodiscard]] constexpr rank_type local(rank_type r) const noexcept { return seats_.data()[r].local; }
  /// The ranks of a host, in order.
  [[nodiscard]] constexpr std::vector<rank_type> const& members(rank_type host) const noexcept {
    return hosts_.data()[host];
  }
  /// The distinct numbers of ranks per host.
  [[nodiscard]] constexpr std::vector<rank_type> const& sizes() const noexcept { return sizes_; }

 private:
  struct seat {
    rank_type host;
    rank_type local;
  };

  /// Fills the vectors of a map. A template of their types, and so compiled only for programs that make a map.
  template <class Labels, class Seats, class Hosts, class Sizes>
  static constexpr void fill(Labels const& labels, Seats& seats, Hosts& hosts, Sizes& sizes) {
    for (rank_type r = 0; r < labels.size(); ++r) {
      rank_type host = 0;
      while (host < hosts.size() && !(labels[hosts[host].front()] == labels[r])) {
        ++host;
      }
      if (host == hosts.size()) {
        hosts.emplace_back();
      }
      seats.push_back({host, static_cast<rank_type>(hosts[host].size())});
      hosts[host].push_back(r);
    }
    for (auto const& members : hosts) {
      auto const size = static_cast<rank_type>(members.size());
      std::size_t i = 0;
      while (i < sizes.size() && sizes[i] != size) {
        ++i;
      }
      if (i == sizes.size()) {
        sizes.push_back(size);
      }
    }
  }

  std::vector<seat> seats_;
  std::vector<std::vector<rank_type>> hosts_;
  std::vector<rank_type> sizes_;
};

}  // namespace tutti
