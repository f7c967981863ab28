// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/error.hpp>
#include <tutti/types.hpp>

#include <sys/epoll.h>

namespace tutti::detail {

/// One descriptor to sleep on that stands for two.
template <class = void>
class basic_either_descriptor {
 public:
  /// @throws error(failure::join) if the process has no descriptors left
  basic_either_descriptor() : both_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!both_) {
      throw error(failure::join, "cannot create an epoll descriptor: " + describe_errno(errno));
    }
  }

  /// Readable when either of the two is. They are mostly the same at every call.
  [[nodiscard]] int either(int first, int second) noexcept {
    replace(first_, first);
    replace(second_, second);
    return both_.get();
  }

 private:
  void replace(int& old, int fd) const noexcept {
    if (old != fd) {
      if (old >= 0) {
        ::epoll_ctl(both_.get(), EPOLL_CTL_DEL, old, nullptr);
      }
      epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
      ::epoll_ctl(both_.get(), EPOLL_CTL_ADD, fd, &readable);
      old = fd;
    }
  }

  descriptor both_;
  int first_ = -1;
  int second_ = -1;
};

using either_descriptor = basic_either_descriptor<>;

}  // namespace tutti::detail
