// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulated_network.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Traffic of one direction of an interface or a link.
struct simulated_usage {
  std::uint64_t messages = 0;   ///< number of messages
  std::uint64_t bytes = 0;      ///< number of bytes
  picoseconds busy{};           ///< time of transfers
  picoseconds queueing_time{};  ///< contention: total time that messages queued for it

  friend bool operator==(simulated_usage const&, simulated_usage const&) = default;
};

/// Results of a simulation.
struct simulated_report {
  /// Both directions of an interface or a link.
  struct two_way {
    simulated_usage outgoing;  ///< outgoing; of a switch, upward
    simulated_usage incoming;  ///< incoming; of a switch, downward

    friend bool operator==(two_way const&, two_way const&) = default;
  };

  std::vector<picoseconds> end_times{};  ///< by rank: time at which it ended
  std::vector<two_way> nics{};           ///< by host
  std::vector<two_way> uplinks{};        ///< by switch; the root's is empty
  std::uint64_t messages = 0;            ///< between ranks, within a host or between hosts
  std::uint64_t bytes = 0;               ///< between ranks, within a host or between hosts
  std::uint64_t losses = 0;              ///< number of losses, repetitions included
  std::uint64_t events = 0;              ///< number of events that the simulator processed

  /// The end of the last rank.
  [[nodiscard]] picoseconds time() const {
    picoseconds last{};
    for (picoseconds const t : end_times) {
      last = last < t ? t : last;
    }
    return last;
  }

  /// An interface or a link: "host 3, in", "switch 1, up".
  struct place {
    /// The name of the interface or link.
    std::string name;
    simulated_usage use;  ///< its traffic
  };
  /// The interface or link that was busy for the longest time.
  [[nodiscard]] place busiest() const {
    place longest{"nothing", {}};
    auto const look = [&](std::vector<two_way> const& places, char const* kind, char const* outgoing,
                          char const* incoming) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        for (bool const outward : {true, false}) {
          simulated_usage const& use = outward ? places[i].outgoing : places[i].incoming;
          if (longest.use.busy < use.busy) {
            longest = {std::string(kind) + ' ' + std::to_string(i) + ", " + (outward ? outgoing : incoming), use};
          }
        }
      }
    };
    look(uplinks, "switch", "up", "down");
    look(nics, "host", "out", "in");
    return longest;
  }

  friend bool operator==(simulated_report const&, simulated_report const&) = default;
};

}  // namespace tutti
