// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline core {

/// A short file of the kernel with words and numbers; empty if it cannot be read.
class kernel_file {
 public:
  static constexpr std::uint64_t no_number = UINT64_MAX;

  TUTTI_DECL explicit kernel_file(std::string const& path);

  /// The number after `word` at the beginning of a line; `no_number` if there is no such word or number.
  [[nodiscard]] TUTTI_DECL std::uint64_t number(std::string_view word = "") const noexcept;

  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }

 private:
  char text_[8192] = {};
  std::size_t size_ = 0;
};

/// A function of a control group's folder and version.
struct group_visit {
  void* visitor;
  void (*call)(void* visitor, std::string const& folder, int version);

  template <class Visit>
  explicit group_visit(Visit& visit) noexcept
      : visitor(&visit), call([](void* object, std::string const& folder, int version) {
          (*static_cast<Visit*>(object))(folder, version);
        }) {}
};

/// Calls `visit(folder, version)` for each control group, of either version, that limits this process by a controller:
/// its own and all enclosing ones. `groups` is the kernel's list of them, `mount_point` the folder that contains them.
TUTTI_DECL void for_each_group(std::string const& groups, std::string const& mount_point, std::string_view controller,
                               group_visit const& visit);

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/control_groups.ipp>
#endif
