// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulated_network.hpp>
#include <tutti/simulation/extend/simulated_report.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// One direction of an interface or a link: it deals with one message at a time, first come first
/// served.
class simulated_wire {
 public:
  /// A message is here and keeps the wire busy for so long; returns when that begins.
  picoseconds take(picoseconds now, picoseconds busy, std::size_t bytes) noexcept {
    picoseconds const begin = now < free_at_ ? free_at_ : now;
    free_at_ = begin + busy;
    ++use_.messages;
    use_.bytes += bytes;
    use_.busy += busy;
    use_.waited += begin - now;
    return begin;
  }
  [[nodiscard]] simulated_usage const& use() const noexcept { return use_; }

 private:
  picoseconds free_at_{};
  simulated_usage use_;
};

/// The wires of a network: where a message goes next, and what is in its way. `no_rank` is a helper, a part of the
/// switch that all others hang on.
///
/// Cut-through: a message's head goes on as soon as a wire is free for it, and its tail follows as the
/// slowest wire lets it. A wire is kept busy by the message's own bytes, not by the wait for a slower
/// one before it, which packets of other messages would fill.
class simulated_wires {
 public:
  simulated_wires(simulated_network const& net, placement const& place)
      : net_(net),
        place_(place),
        lags_(net.hosts.size()),
        nics_(net.hosts.size()),
        ports_(place.size()),
        links_(net.switches.size()) {}

  /// From now on messages from and to other hosts take longer by this.
  void lag(std::uint32_t host, picoseconds extra) noexcept { lags_[host] += extra; }

  [[nodiscard]] bool same_host(rank_type a, rank_type b) const noexcept {
    return a != no_rank && b != no_rank && place_[a] == place_[b];
  }
  [[nodiscard]] std::uint32_t switch_of(rank_type r) const noexcept {
    return r == no_rank ? 0 : net_.hosts[place_[r]].on;
  }

  /// The interface between two members, as `of` sees it. @pre `of` is a rank
  [[nodiscard]] loggp const& between(rank_type of, rank_type other) const noexcept {
    return same_host(of, other) ? net_.memory : net_.hosts[place_[of]].nic;
  }
  [[nodiscard]] simulated_wire& way_out(rank_type from, rank_type to) noexcept {
    return same_host(from, to) ? ports_[from].out : nics_[place_[from]].out;
  }
  [[nodiscard]] simulated_wire& way_in(rank_type from, rank_type to) noexcept {
    return same_host(from, to) ? ports_[to].in : nics_[place_[to]].in;
  }

  /// From interface to interface, without links between switches; of two that differ, the longer.
  [[nodiscard]] picoseconds latency(rank_type from, rank_type to) const noexcept {
    picoseconds longest{};
    picoseconds lag{};
    for (auto const& [of, other] : {std::pair{from, to}, std::pair{to, from}}) {
      if (of != no_rank) {
        picoseconds const own = between(of, other).latency;
        longest = longest < own ? own : longest;
        lag += lags_[place_[of]];
      }
    }
    return longest + (same_host(from, to) ? picoseconds{} : lag);
  }
  /// The longest way there is.
  [[nodiscard]] picoseconds diameter() const {
    std::vector<picoseconds> depth(net_.switches.size());
    picoseconds deepest{};
    for (std::size_t i = 1; i < depth.size(); ++i) {
      depth[i] = depth[net_.switches[i].parent] + net_.switches[i].up.latency;
      deepest = deepest < depth[i] ? depth[i] : deepest;
    }
    picoseconds longest{};
    for (simulated_network::host const& h : net_.hosts) {
      longest = longest < h.nic.latency ? h.nic.latency : longest;
    }
    return longest + 2 * deepest;
  }

  /// The link that leads from a switch towards a rank.
  struct hop {
    simulated_wire* wire;
    simulated_network::uplink const* link;
    std::uint32_t leads_to;
  };
  /// @pre at != switch_of(to)
  [[nodiscard]] hop next(std::uint32_t at, rank_type to) noexcept {
    for (std::uint32_t below = switch_of(to); below != simulated_network::none; below = net_.switches[below].parent) {
      if (net_.switches[below].parent == at) {
        return {&links_[below].in, &net_.switches[below].up, below};
      }
    }
    return {&links_[at].out, &net_.switches[at].up, net_.switches[at].parent};
  }

  void tell(simulated_report& report) const {
    for (auto const& [from, to] : {std::pair{&nics_, &report.nics}, std::pair{&links_, &report.uplinks}}) {
      for (two_way const& w : *from) {
        to->push_back({w.out.use(), w.in.use()});
      }
    }
  }

 private:
  struct two_way {
    simulated_wire out;
    simulated_wire in;
  };

  simulated_network const& net_;
  placement const& place_;
  std::vector<picoseconds> lags_;  ///< by host
  std::vector<two_way> nics_;      ///< by host
  std::vector<two_way> ports_;     ///< by rank: to and from its neighbours on the host
  std::vector<two_way> links_;     ///< by the switch below
};

}  // namespace tutti::detail::simulation
