// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulated_network.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Traffic of one direction of an interface or a link.
struct simulated_usage {
  std::uint64_t messages = 0;  ///< how many messages
  std::uint64_t bytes = 0;     ///< how many bytes
  picoseconds busy{};          ///< how long it worked
  picoseconds waited{};        ///< how long messages stood before it, all together: its contention

  friend bool operator==(simulated_usage const&, simulated_usage const&) = default;
};

/// Results of a simulation.
struct simulated_report {
  /// Both directions of an interface or a link.
  struct two_way {
    simulated_usage out;  ///< of a switch: up
    simulated_usage in;   ///< of a switch: down

    friend bool operator==(two_way const&, two_way const&) = default;
  };

  std::vector<picoseconds> ended{};  ///< when each rank ended
  std::vector<two_way> nics{};       ///< by host
  std::vector<two_way> uplinks{};    ///< by switch; the root has none
  std::uint64_t messages = 0;        ///< between ranks, on one host or two
  std::uint64_t bytes = 0;           ///< between ranks, on one host or two
  std::uint64_t lost = 0;            ///< times that a message was lost on its way
  std::uint64_t events = 0;          ///< what the simulation itself had to do

  /// When the last rank ended.
  [[nodiscard]] picoseconds time() const {
    picoseconds last{};
    for (picoseconds const t : ended) {
      last = last < t ? t : last;
    }
    return last;
  }

  /// The interface or link that worked longest: "host 3, in", "switch 1, up".
  struct place {
    /// The name of the interface or link.
    std::string name;
    simulated_usage use;  ///< what went through it
  };
  /// The one that worked longest.
  [[nodiscard]] place busiest() const {
    place most{"nothing", {}};
    auto const look = [&](std::vector<two_way> const& all, char const* what, char const* out, char const* in) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        for (bool const outward : {true, false}) {
          simulated_usage const& use = outward ? all[i].out : all[i].in;
          if (most.use.busy < use.busy) {
            most = {std::string(what) + ' ' + std::to_string(i) + ", " + (outward ? out : in), use};
          }
        }
      }
    };
    look(uplinks, "switch", "up", "down");
    look(nics, "host", "out", "in");
    return most;
  }

  friend bool operator==(simulated_report const&, simulated_report const&) = default;
};

}  // namespace tutti
