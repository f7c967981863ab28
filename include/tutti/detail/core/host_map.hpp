// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/types.hpp>

#include <utility>
#include <vector>

namespace tutti::detail {

/// Which ranks share a host. Hosts are numbered in the order of their lowest ranks, and the ranks of a
/// host from 0 on in the order of their ranks.
template <class Rank>
class basic_host_map {
 public:
  constexpr basic_host_map() = default;

  /// `labels[r]` is equal for ranks of one host: anything that can be compared.
  template <class Labels>
  constexpr explicit basic_host_map(Labels const& labels) {
    for (Rank r = 0; r < labels.size(); ++r) {
      Rank host = 0;
      while (host < hosts_.size() && !(labels[hosts_[host].front()] == labels[r])) {
        ++host;
      }
      if (host == hosts_.size()) {
        hosts_.emplace_back();
      }
      seats_.push_back({host, static_cast<Rank>(hosts_[host].size())});
      hosts_[host].push_back(r);
    }
  }

  [[nodiscard]] constexpr Rank ranks() const noexcept { return static_cast<Rank>(seats_.size()); }
  [[nodiscard]] constexpr Rank hosts() const noexcept { return static_cast<Rank>(hosts_.size()); }
  /// The host of rank r, and r's number among the ranks of that host.
  [[nodiscard]] constexpr Rank host(Rank r) const noexcept { return seats_[r].host; }
  [[nodiscard]] constexpr Rank local(Rank r) const noexcept { return seats_[r].local; }
  /// The ranks of a host.
  [[nodiscard]] constexpr std::vector<Rank> const& members(Rank host) const noexcept { return hosts_[host]; }

 private:
  struct seat {
    Rank host;
    Rank local;
  };
  std::vector<seat> seats_;
  std::vector<std::vector<Rank>> hosts_;
};

using host_map = basic_host_map<rank_type>;

}  // namespace tutti::detail
