// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The memory left below the limits of all control groups of a process; UINT64_MAX without a limit.
///
/// @param groups /proc/<pid>/cgroup of the process
/// @param mount_root folder of their file systems; a container may see its group as the root, whatever `groups` says
/// @param swap free swap of the host; a group may use a share
[[nodiscard]] TUTTI_DECL std::uint64_t left_in_groups(std::string const& groups, std::string const& mount_root,
                                                      std::uint64_t swap);

/// The memory that this process could be given now, by what the kernel reports, and what limits it.
struct memory_left {
  std::uint64_t bytes = UINT64_MAX;
  char const* limit = "";

  [[nodiscard]] TUTTI_DECL static memory_left now();
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/memory_left.ipp>
#endif
