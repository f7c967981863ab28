// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// What is left below the memory limits of all control groups that a process is in; UINT64_MAX if none has one.
///
/// @param groups its /proc/<pid>/cgroup
/// @param mounted where their file systems are; a container may see its own group as the root, whatever `groups` says
/// @param swap what the host has of it, of which a group may have a share
[[nodiscard]] TUTTI_DECL std::uint64_t left_in_groups(std::string const& groups, std::string const& mount_root,
                                                      std::uint64_t swap);

/// How much more memory this process could be given at once, as far as the kernel says, and by what that is limited.
struct memory_left {
  std::uint64_t bytes = UINT64_MAX;
  char const* limit = "";

  [[nodiscard]] TUTTI_DECL static memory_left now();
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/memory_left.ipp>
#endif
