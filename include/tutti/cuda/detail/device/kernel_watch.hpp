// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/wait.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/extend/types.hpp>

#include <chrono>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// Failure detection by a rank's host while it waits for its kernels: a rank that they wait for has left, or no
/// operation ends in time. Running kernels detect late ranks themselves.
template <class Peers>
class kernel_watch {
 public:
  explicit kernel_watch(Peers& on) : on_(on), moved_(on.now()) {}

  /// True if a check is due: at first, and then every few milliseconds.
  [[nodiscard]] bool is_due() {
    time_point const now = on_.now();
    if (has_looked_ && now - looked_ < between_looks) {
      return false;
    }
    has_looked_ = true;
    looked_ = now;
    return true;
  }
  /// The fault that has to end the kernels, or none. @param limit the longest deadline of all operations
  [[nodiscard]] tutti::fault found(duration limit) {
    if (std::uint64_t const here = on_.progress(); here != progress_) {
      progress_ = here;
      moved_ = looked_;
    }
    if (limit != no_deadline && looked_ - moved_ > limit + grace) {
      return {failure::deadline, no_rank, on_.rank()};
    }
    if constexpr (requires { on_.missing(); }) {
      rank_type const missing = on_.missing();
      if (missing == no_rank || missing != missing_) {
        missing_ = missing;
        missed_ = looked_;
      } else if (looked_ - missed_ > farewell) {
        return {failure::peer_lost, missing, on_.rank()};
      }
    }
    return {};
  }

 private:
  /// Kernels end by their deadline. After this further time, the user's own work must be blocking the stream.
  static constexpr duration grace = std::chrono::seconds(1);
  /// Operations that a rank began before it left may still be under way for this time.
  static constexpr duration farewell = std::chrono::seconds(2);

  Peers& on_;
  bool has_looked_ = false;
  time_point looked_{};
  time_point moved_;
  std::uint64_t progress_ = 0;
  rank_type missing_ = no_rank;
  time_point missed_{};
};

}  // namespace tutti::detail::device
