// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulated_network.hpp>
#include <tutti/simulation/extend/simulated_report.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// One direction of an interface or a link. Serves one message at a time, first come first served.
class simulated_wire {
 public:
  /// Occupies the wire with a message for the time `busy`; returns the start of that time.
  picoseconds take(picoseconds now, picoseconds busy, std::size_t bytes) noexcept {
    picoseconds const begin = now < free_at_ ? free_at_ : now;
    free_at_ = begin + busy;
    ++use_.messages;
    use_.bytes += bytes;
    use_.busy += busy;
    use_.queueing_time += begin - now;
    return begin;
  }
  [[nodiscard]] simulated_usage const& use() const noexcept { return use_; }

 private:
  picoseconds free_at_{};
  simulated_usage use_;
};

/// The wires of a network: the route of a message, and the wires that it occupies. `no_rank` stands for the
/// aggregator, a part of the root switch.
///
/// Cut-through: a message's head moves on as soon as the next wire is free, and its tail follows at the rate of the
/// slowest wire. A wire is occupied by the message's own bytes only: packets of other messages fill the gaps that a
/// slower wire before it causes.
class simulated_wires {
 public:
  simulated_wires(simulated_network const& net, placement const& place)
      : net_(net),
        place_(place),
        lags_(net.hosts.size()),
        nics_(net.hosts.size()),
        ports_(place.size()),
        links_(net.switches.size()) {}

  /// Delays messages between this host and other hosts.
  void lag(std::uint32_t host, picoseconds extra) noexcept { lags_[host] += extra; }

  [[nodiscard]] bool same_host(rank_type a, rank_type b) const noexcept {
    return a != no_rank && b != no_rank && place_[a] == place_[b];
  }
  [[nodiscard]] std::uint32_t switch_of(rank_type r) const noexcept {
    return r == no_rank ? 0 : net_.hosts[place_[r]].switch_number;
  }

  /// The interface of `member` that faces `other`. @pre `member` is a rank
  [[nodiscard]] loggp const& interface_of(rank_type member, rank_type other) const noexcept {
    return same_host(member, other) ? net_.memory : net_.hosts[place_[member]].nic;
  }
  [[nodiscard]] simulated_wire& way_out(rank_type sender, rank_type receiver) noexcept {
    return same_host(sender, receiver) ? ports_[sender].egress : nics_[place_[sender]].egress;
  }
  [[nodiscard]] simulated_wire& way_in(rank_type sender, rank_type receiver) noexcept {
    return same_host(sender, receiver) ? ports_[receiver].ingress : nics_[place_[receiver]].ingress;
  }

  /// Latency from interface to interface, without links between switches; the longer one of two that differ.
  [[nodiscard]] picoseconds latency(rank_type sender, rank_type receiver) const noexcept {
    picoseconds longest{};
    picoseconds lag{};
    for (auto const& [member, other] : {std::pair{sender, receiver}, std::pair{receiver, sender}}) {
      if (member != no_rank) {
        picoseconds const own_latency = interface_of(member, other).latency;
        longest = longest < own_latency ? own_latency : longest;
        lag += lags_[place_[member]];
      }
    }
    return longest + (same_host(sender, receiver) ? picoseconds{} : lag);
  }
  /// The longest latency between two hosts.
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
  /// @pre at != switch_of(receiver)
  [[nodiscard]] hop next(std::uint32_t at, rank_type receiver) noexcept {
    for (std::uint32_t subtree = switch_of(receiver); subtree != simulated_network::no_switch;
         subtree = net_.switches[subtree].parent) {
      if (net_.switches[subtree].parent == at) {
        return {&links_[subtree].ingress, &net_.switches[subtree].up, subtree};
      }
    }
    return {&links_[at].egress, &net_.switches[at].up, net_.switches[at].parent};
  }

  void write_usage(simulated_report& report) const {
    for (auto const& [wires, usage] : {std::pair{&nics_, &report.nics}, std::pair{&links_, &report.uplinks}}) {
      for (two_way const& w : *wires) {
        usage->push_back({w.egress.use(), w.ingress.use()});
      }
    }
  }

 private:
  struct two_way {
    simulated_wire egress;
    simulated_wire ingress;
  };

  simulated_network const& net_;
  placement const& place_;
  std::vector<picoseconds> lags_;  ///< by host
  std::vector<two_way> nics_;      ///< by host
  std::vector<two_way> ports_;     ///< by rank: to and from its neighbours on the host
  std::vector<two_way> links_;     ///< by the lower switch of each link
};

}  // namespace tutti::detail::simulation
