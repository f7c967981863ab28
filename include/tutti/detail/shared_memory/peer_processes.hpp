// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Tells which processes of this host have ended, even if their children hold their files or nobody has waited for
/// them. A descriptor of each process (pidfd_open, Linux 5.3) cannot be mistaken for a later process with its number. A
/// stopped process has not ended.
class peer_processes {
 public:
  /// Returns the text by which peers find this process: "number@namespace".
  [[nodiscard]] TUTTI_DECL static std::string offer();

  /// Opens the processes of these offers. They were the right ones if each is heard of afterwards.
  TUTTI_DECL void open(std::vector<std::string_view> const& offers);

  /// True if the end of a process can be noticed.
  [[nodiscard]] bool can_observe(rank_type r) const noexcept { return static_cast<bool>(files_[r]); }
  /// True if the process of rank r is known to have ended. Cost: a system call.
  [[nodiscard]] TUTTI_DECL bool has_ended(rank_type r) const noexcept;

 private:
  owned_array<descriptor> files_;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/peer_processes.ipp>
#endif
