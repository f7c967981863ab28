// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/control_groups.hpp>
#include <tutti/detail/shared_memory/memory_left.hpp>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The files of a control group's memory, by version. Cached pages of files count as free.
struct group_files {
  char const* limit;
  char const* usage;
  char const* pages[2];  ///< keys in its `stat`
};
inline constexpr group_files groups_1{
    "limit_in_bytes", "usage_in_bytes", {"total_inactive_file ", "total_active_file "}};
inline constexpr group_files groups_2{"max", "current", {"inactive_file ", "active_file "}};

/// The memory left in one group. `group` is the common beginning of the paths of its files.
[[nodiscard]] TUTTI_DECL std::uint64_t left_in_group(std::string const& group, group_files const& names,
                                                     std::uint64_t swap) {
  using file = kernel_file;
  std::uint64_t limit = file(group + names.limit).number();
  std::uint64_t const usage = file(group + names.usage).number();
  if (limit == file::no_number || usage == file::no_number) {
    return UINT64_MAX;
  }
  auto const add = [&limit](std::uint64_t bytes) { limit = limit > UINT64_MAX - bytes ? UINT64_MAX : limit + bytes; };
  file const stat(group + "stat");
  for (char const* const pages : names.pages) {
    std::uint64_t const bytes = stat.number(pages);
    add(bytes == file::no_number ? 0 : bytes);
  }
  if (std::uint64_t const swap_usage = file(group + "swap.current").number(); swap_usage != file::no_number) {
    std::uint64_t const swap_limit = file(group + "swap.max").number();
    std::uint64_t const left = swap_limit > swap_usage ? swap_limit - swap_usage : 0;
    add(left < swap ? left : swap);
  }
  return limit > usage ? limit - usage : 0;
}

TUTTI_DECL std::uint64_t left_in_groups(std::string const& groups, std::string const& mount_root, std::uint64_t swap) {
  std::uint64_t least = UINT64_MAX;
  auto visit = [&](std::string const& group, int version) {
    std::uint64_t const left = left_in_group(group + "memory.", version == 2 ? groups_2 : groups_1, swap);
    least = left < least ? left : least;
  };
  for_each_group(groups, mount_root, "memory", group_visit(visit));
  return least;
}

TUTTI_DECL memory_left memory_left::now() {
  kernel_file const host("/proc/meminfo");
  std::uint64_t const available = host.number("MemAvailable:");
  std::uint64_t const free_swap = host.number("SwapFree:");
  constexpr std::uint64_t unknown = kernel_file::no_number;
  std::uint64_t const swap = free_swap == unknown ? 0 : free_swap * 1024;
  memory_left left;
  if (available != unknown) {
    left = {available * 1024 + swap, "this host has"};
  }
  if (std::uint64_t const in_groups = left_in_groups("/proc/self/cgroup", "/sys/fs/cgroup", swap);
      in_groups < left.bytes) {
    left = {in_groups, "the memory limit of this process's container (cgroup) leaves"};
  }
  return left;
}

}  // namespace tutti::detail::shared_memory
