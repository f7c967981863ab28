// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Tells of the processes of this host which ones have ended, whatever their children still hold, and whether or not
/// they have been buried: a descriptor of each process (pidfd_open, Linux 5.3), which no later process of the same
/// number can be taken for. One that is stopped has not ended.
class peer_processes {
 public:
  /// By which peers find this process: "number@namespace".
  [[nodiscard]] TUTTI_DECL static std::string offer();

  /// Opens those that made these offers. They were the right ones if each of them is heard of afterwards.
  TUTTI_DECL void open(std::vector<std::string_view> const& offers);

  /// Whether it will be known when a process has ended.
  [[nodiscard]] bool can_observe(rank_type r) const noexcept { return static_cast<bool>(files_[r]); }
  /// Whether it is known that the process of rank r has ended. Cost: a system call.
  [[nodiscard]] TUTTI_DECL bool has_ended(rank_type r) const noexcept;

 private:
  owned_array<descriptor> files_;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/peer_processes.ipp>
#endif
