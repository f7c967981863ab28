// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/locality/either_descriptor.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>
#include <sys/epoll.h>

namespace tutti::inline v0_1_0::detail::inline locality {

TUTTI_DECL either_descriptor::either_descriptor() : epoll_([] { return ::epoll_create1(EPOLL_CLOEXEC); }) {
  if (!epoll_) {
    throw error(failure::join,
                "cannot create an epoll descriptor for the transports within a host and between hosts: " +
                    advise_on_errno(errno));
  }
}

TUTTI_DECL void either_descriptor::watch(int old, int fd) const noexcept {
  if (old >= 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, old, nullptr);
  }
  epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &readable);
}

}  // namespace tutti::detail::locality
