// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/recorder.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inspect {

/// The activity of a thread, as the system reports it.
enum class activity {
  unknown,   ///< its process cannot be examined
  computes,  ///< runs, or is ready to run
  sleeps,    ///< waits in the system for something else than the following
  on_lock,   ///< waits for a lock of the program
  on_disk,   ///< is in a wait that signals do not end
  stopped,   ///< by a signal
  traced,    ///< stopped by a debugger
  absent     ///< has ended
};

/// One communicator of one rank of this host, as seen from outside.
struct view {
  std::uint64_t communicator = 0;  ///< identity of the communicator
  std::string name{};              ///< name of the communicator
  tutti::rank_type rank = 0;
  tutti::rank_type size = 0;
  std::uint32_t pid = 0;
  std::uint32_t thread = 0;
  bool has_record = true;  ///< false: only other ranks name this one
  activity state = activity::unknown;
  std::string channel{};                              ///< function of the kernel in which it waits
  bool others_compute = false;                        ///< other threads of its process compute
  std::vector<tutti::recorder::entry> operations{};   ///< last operations, oldest first
  std::optional<tutti::recorder::wait> noted_wait{};  ///< last wait
};

/// All that is seen at one time.
struct sight {
  tutti::time_point now{};
  std::vector<view> views{};
};

}  // namespace inspect
