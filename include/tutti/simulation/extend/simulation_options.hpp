// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <vector>

namespace tutti::inline v0_1_0 {

/// Faults of a simulated world, and their times. Ranks are those of the whole world.
struct simulated_faults {
  /// Multiplies every time of this rank's processor by `times`.
  struct slowness {
    /// The slow rank.
    rank_type rank;
    double times;  ///< factor of its processor times
  };
  /// Stops this rank's processor for a while.
  struct pause {
    /// The rank that stops.
    rank_type rank;
    picoseconds at;       ///< when it stops
    picoseconds lasting;  ///< length of the stop
  };
  /// Delays every message to and from this host by `extra`.
  struct lag {
    std::uint32_t host;  ///< its number in the network
    picoseconds extra;   ///< the delay
  };
  /// Kills this rank. Messages that have left it still arrive; others can know of the death `detection` later.
  struct death {
    /// The rank that dies.
    rank_type rank;
    picoseconds at;  ///< when it dies
  };

  std::vector<slowness> slow{};  ///< slow ranks
  std::vector<pause> pauses{};   ///< ranks that stop for a while
  std::vector<lag> lags{};       ///< hosts with delayed messages
  std::vector<death> deaths{};   ///< ranks that die
  /// Time for which a death stays unknown.
  picoseconds detection = std::chrono::milliseconds(1);

  /// Share of the messages between hosts that are lost behind the sender's interface, drawn from `seed`.
  double loss = 0;
  std::uint64_t seed = 1;  ///< seed of the losses
  /// Time after which the sender repeats a lost message; later messages of its lane wait for it.
  picoseconds resend = std::chrono::milliseconds(1);
  /// Number of tries after which a message is lost for good. The operation then fails at its deadline.
  std::uint32_t attempts = 16;
};

/// Settings of a simulation.
struct simulation_options {
  placement place{};                                 ///< by rank: its host; empty: in_order
  simulated_faults faults{};                         ///< the faults of the run
  std::uint32_t window = 1024;                       ///< messages under way between two ranks, on each lane
  picoseconds look = std::chrono::nanoseconds(50);   ///< virtual time of a query for messages (`test`, `poll`)
  std::size_t stack_bytes = std::size_t{256} << 10;  ///< stack of each rank's program; only used pages take memory
};

namespace detail {

/// Completes the options with defaults.
/// @throws precondition_error if network, placement and faults do not fit each other
[[nodiscard]] inline simulation_options complete(simulation_options o, simulated_network const& net, rank_type ranks) {
  expects(ranks != 0 && ranks < 1U << 24, "simulation: a world must have from 1 to 2^24 - 1 ranks, not ", ranks);
  expects(!net.hosts.empty(), "simulation: the network must have 1 host or more, not 0");
  for (simulated_network::host const& h : net.hosts) {
    expects(h.switch_number < net.switches.size(), "simulation: a host is on switch ", h.switch_number,
            ", which must be below the number of switches, ", net.switches.size());
  }
  for (std::size_t i = 0; i < net.switches.size(); ++i) {
    expects(
        (i == 0) == (net.switches[i].parent == simulated_network::no_switch) && (i == 0 || net.switches[i].parent < i),
        "simulation: switch 0 must be the root, and every other switch come behind its parent; the parent of switch ",
        i, " is ", net.switches[i].parent);
  }
  if (o.place.empty()) {
    o.place = in_order(net, ranks);
  }
  expects(o.place.size() == ranks, "simulation: the placement must name a host for each of the ", ranks,
          " ranks, not for ", o.place.size());
  for (std::uint32_t const host : o.place) {
    expects(host < net.hosts.size(), "simulation: a rank is placed on host ", host,
            ", which must be below the number of hosts, ", net.hosts.size());
  }
  expects(o.window != 0, "simulation: the window must be 1 message or more, not 0");
  auto const exists = [](char const* kind, std::size_t number, std::size_t count) {
    expects(number < count, "simulation: a fault names ", kind, " ", number,
            ", which must be below the number of these, ", count);
  };
  for (auto const& f : o.faults.slow) {
    exists("rank", f.rank, ranks);
  }
  for (auto const& f : o.faults.pauses) {
    exists("rank", f.rank, ranks);
  }
  for (auto const& f : o.faults.lags) {
    exists("host", f.host, net.hosts.size());
  }
  for (auto const& f : o.faults.deaths) {
    exists("rank", f.rank, ranks);
  }
  return o;
}

}  // namespace detail

}  // namespace tutti
