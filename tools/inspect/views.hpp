// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/process_look.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inspect {

using tutti::detail::activity;

/// One communicator of one rank of this host, as seen from outside.
struct view {
  std::uint64_t communicator = 0;  ///< identity of the communicator
  std::string name{};              ///< name of the communicator
  tutti::rank_type rank = 0;
  tutti::rank_type size = 0;
  std::string host{};  ///< name of its host
  std::uint32_t pid = 0;
  std::uint32_t thread = 0;
  std::size_t record = 0;  ///< number of its record on the page of its process
  bool has_record = true;  ///< false: only other ranks name this one
  bool is_seen = true;     ///< false: there is no dump of its process
  activity state = activity::unknown;
  std::string channel{};                              ///< function of the kernel in which it waits
  bool others_compute = false;                        ///< other threads of its process compute
  std::vector<tutti::recorder::entry> operations{};   ///< last operations, oldest first
  std::optional<tutti::recorder::wait> noted_wait{};  ///< last wait
  std::string error{};                                ///< text of the error at which a dump was written; mostly empty
  std::int64_t error_time = 0;                        ///< nanoseconds since 1970
};

[[nodiscard]] inline bool are_of_one_process(view const& a, view const& b) {
  return a.pid == b.pid && a.host == b.host;
}

/// All that is seen at one time.
struct sight {
  tutti::time_point now{};
  std::vector<view> views{};
  bool is_from_dumps = false;
};

}  // namespace inspect
