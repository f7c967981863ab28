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

/// The cores of a host that a thread may run on (taskset, Slurm, cpusets). Several threads have those that one of them
/// may run on.
class core_set {
 public:
  core_set() noexcept = default;

  /// Those of a thread: 0 is the one that calls, a process's number its first one. All of the host if the system does
  /// not say.
  [[nodiscard]] TUTTI_DECL static core_set of_thread(::pid_t thread = 0);

  /// Adds those of a text. False if it is no text of a set.
  [[nodiscard]] TUTTI_DECL bool add(std::string_view text);

  /// A text to exchange: "0-3,8".
  [[nodiscard]] TUTTI_DECL std::string text() const;

  /// The number of them that may be kept busy: a control group may allow fewer at a time (cgroup, `docker run --cpus`).
  [[nodiscard]] TUTTI_DECL std::size_t usable() const;

 private:
  void add(std::size_t core);

  std::vector<std::uint64_t> words_;
};

/// The number of cores that control groups let a process keep busy, at least 1; SIZE_MAX if there is no limit. @see
/// for_each_group
[[nodiscard]] TUTTI_DECL std::size_t cores_of_groups(std::string const& groups, std::string const& mounted);

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/core_set.ipp>
#endif
