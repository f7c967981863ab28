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
template <class Transport>
class kernel_watch {
 public:
  explicit kernel_watch(Transport& transport) : transport_(transport), progress_time_(transport.now()) {}

  /// True if a check is due: at first, and then every few milliseconds.
  [[nodiscard]] bool is_due() {
    time_point const now = transport_.now();
    if (has_checked_ && now - check_time_ < between_looks) {
      return false;
    }
    has_checked_ = true;
    check_time_ = now;
    return true;
  }
  /// The fault that has to end the kernels, or none. @param limit the longest deadline of all operations
  [[nodiscard]] tutti::fault find_fault(duration limit) {
    if (std::uint64_t const progress = transport_.progress(); progress != progress_) {
      progress_ = progress;
      progress_time_ = check_time_;
    }
    if (limit != no_deadline && check_time_ - progress_time_ > limit + grace) {
      return {failure::deadline, no_rank, transport_.rank()};
    }
    if constexpr (requires { transport_.missing(); }) {
      rank_type const missing = transport_.missing();
      if (missing == no_rank || missing != missing_) {
        missing_ = missing;
        missing_time_ = check_time_;
      } else if (check_time_ - missing_time_ > farewell) {
        return {failure::peer_lost, missing, transport_.rank()};
      }
    }
    return {};
  }

 private:
  /// Kernels end by their deadline. After this further time, the user's own work must be blocking the stream.
  static constexpr duration grace = std::chrono::seconds(1);
  /// Operations that a rank began before it left may still be under way for this time.
  static constexpr duration farewell = std::chrono::seconds(2);

  Transport& transport_;
  bool has_checked_ = false;
  time_point check_time_{};
  time_point progress_time_;
  std::uint64_t progress_ = 0;
  rank_type missing_ = no_rank;
  time_point missing_time_{};
};

}  // namespace tutti::detail::device
