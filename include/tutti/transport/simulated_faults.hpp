// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/transport/simulated_network.hpp>

#include <vector>

namespace tutti {

/// What goes wrong in a simulated world, and when. Ranks are those of the whole world.
struct simulated_faults {
  /// Everything that this rank's processor does takes so many times as long.
  struct slowness {
    rank_type rank;
    double times;
  };
  /// This rank's processor stands still for a while.
  struct pause {
    rank_type rank;
    picoseconds at;
    picoseconds lasting;
  };
  /// Every message to and from this host takes so much longer.
  struct lag {
    std::uint32_t host;
    picoseconds extra;
  };
  /// This rank dies. What has left it by then arrives; others can find it dead `detection` later.
  struct death {
    rank_type rank;
    picoseconds at;
  };

  std::vector<slowness> slow{};
  std::vector<pause> pauses{};
  std::vector<lag> lags{};
  std::vector<death> deaths{};
  picoseconds detection = std::chrono::milliseconds(1);

  /// The part of all messages between hosts that is lost behind the sender's interface, by the throw
  /// of dice that start from `seed`.
  double loss = 0;
  std::uint64_t seed = 1;
  /// Like a reliable transport, the sender's sends again after this time; those that come behind on
  /// the same lane wait.
  picoseconds resend = std::chrono::milliseconds(1);
  /// After so many times it is lost for good, and all that is left is the deadline.
  std::uint32_t attempts = 16;
};

}  // namespace tutti
