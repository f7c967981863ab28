// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>

namespace tutti::inline v0_1_0::detail::inline locality {

/// One descriptor to sleep on that stands for two.
class either_descriptor {
 public:
  /// @throws error(failure::join) if the process has no descriptors left
  either_descriptor();

  /// Returns a descriptor that is readable when either of the two is. Cheap if both are those of the last call.
  [[nodiscard]] int combine(int first, int second) noexcept {
    replace(first_, first);
    replace(second_, second);
    return epoll_.get();
  }

 private:
  void replace(int& old, int fd) const noexcept {
    if (old != fd) {
      watch(old, fd);
      old = fd;
    }
  }
  void watch(int old, int fd) const noexcept;

  descriptor epoll_;
  int first_ = -1;
  int second_ = -1;
};

}  // namespace tutti::detail::locality

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/locality/either_descriptor.ipp>
#endif
