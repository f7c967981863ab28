// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline core {

/// The cores of a host that a thread may run on (taskset, Slurm, cpusets). The set of several threads is the union.
class core_set {
 public:
  core_set() noexcept = default;

  /// The cores of a thread: 0 is the calling thread, a process id its first one. All cores of the host if the system
  /// does not tell.
  [[nodiscard]] TUTTI_DECL static core_set of_thread(::pid_t thread = 0);

  /// Adds the cores of a text, in ascending order; returns false if it is malformed.
  [[nodiscard]] TUTTI_DECL bool add(std::string_view text);

  /// The set as a text to exchange: "0-3,8".
  [[nodiscard]] TUTTI_DECL std::string text() const;

  /// The number of cores that may be busy at a time, which a control group may limit (cgroup, `docker run --cpus`).
  [[nodiscard]] TUTTI_DECL std::size_t usable() const;

 private:
  void add(std::size_t core);

  std::vector<std::uint64_t> words_;
};

/// The number of cores that control groups let a process keep busy, at least 1; SIZE_MAX if there is no limit.
/// @see for_each_group
[[nodiscard]] TUTTI_DECL std::size_t cores_of_groups(std::string const& groups, std::string const& mount_point);

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/core_set.ipp>
#endif
