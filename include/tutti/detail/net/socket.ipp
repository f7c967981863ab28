// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

namespace tutti::inline v0_1_0::detail::inline net {

TUTTI_DECL descriptor stream_socket(int family) noexcept {
  return descriptor([&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

TUTTI_DECL void no_delay(int fd) noexcept {
  int const enable = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enable, sizeof enable);
}

TUTTI_DECL address local_address(int fd) noexcept {
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&s), &length) == 0
             ? address(reinterpret_cast<sockaddr const*>(&s), length)
             : address();
}

TUTTI_DECL address peer_address(int fd) noexcept {
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&s), &length) == 0
             ? address(reinterpret_cast<sockaddr const*>(&s), length)
             : address();
}

TUTTI_DECL int unacknowledged_bytes(int fd) noexcept {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

TUTTI_DECL int unsent_bytes(int fd) noexcept {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQNSD, &bytes) == 0 ? bytes : 0;
}

TUTTI_DECL descriptor begin_connect(address const& destination) noexcept {
  descriptor s = stream_socket(destination.family());
  if (!s) {
    return s;
  }
  no_delay(s.get());
  // A connect that a signal interrupts continues like one in progress.
  if (::connect(s.get(), destination.data(), destination.size()) != 0 && errno != EINPROGRESS && errno != EINTR) {
    s.reset();
  }
  return s;
}

TUTTI_DECL int connect_error(int fd) noexcept {
  int code = 0;
  socklen_t length = sizeof code;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) {
    return errno;
  }
  if (code == 0) {
    // TCP may connect a socket within one host to itself, if the wanted port is the one that the system has just given
    // it.
    address const local = local_address(fd);
    address const other = peer_address(fd);
    if (local && local.size() == other.size() && std::memcmp(local.data(), other.data(), local.size()) == 0) {
      return ECONNREFUSED;
    }
  }
  return code;
}

TUTTI_DECL descriptor connect(address const& destination, time_point deadline) noexcept {
  descriptor s = begin_connect(destination);
  if (!s) {
    return s;
  }
  if (!wait_ready(s.get(), POLLOUT, deadline)) {
    s.reset();
    errno = ETIMEDOUT;
  } else if (int const code = connect_error(s.get()); code != 0) {
    s.reset();
    errno = code;
  }
  return s;
}

TUTTI_DECL descriptor listen(address const& at, int backlog) {
  descriptor s = stream_socket(at.family());
  int const enable = 1;
  int const disable = 0;
  bool good = static_cast<bool>(s);
  // Allows a port on which connections of an earlier job linger.
  good = good && ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &enable, sizeof enable) == 0;
  if (good && at.family() == AF_INET6) {
    ::setsockopt(s.get(), IPPROTO_IPV6, IPV6_V6ONLY, &disable, sizeof disable);
  }
  good = good && ::bind(s.get(), at.data(), at.size()) == 0 && ::listen(s.get(), backlog) == 0;
  if (!good) {
    int const code = errno;
    throw error(failure::join, "cannot listen at " + at.text() + ": " + advise_on_errno(code));
  }
  return s;
}

TUTTI_DECL descriptor listen(std::uint16_t port, int backlog) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(port);
  if (descriptor const probe = stream_socket(AF_INET6); probe) {
    address const wildcard(reinterpret_cast<sockaddr const*>(&six), sizeof six);
    // IPv6 may be compiled in yet switched off, which only binding tells.
    if (::bind(probe.get(), wildcard.with_port(0).data(), wildcard.size()) == 0) {
      return listen(wildcard, backlog);
    }
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_ANY);
  four.sin_port = htons(port);
  return listen(address(reinterpret_cast<sockaddr const*>(&four), sizeof four), backlog);
}

TUTTI_DECL void await_data(int listener) noexcept {
  int const seconds = 5;
  ::setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
}

TUTTI_DECL descriptor accept(int listener) noexcept {
  for (;;) {
    descriptor s([&] { return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (s) {
      no_delay(s.get());
      return s;
    }
    if (errno != EINTR && errno != ECONNABORTED) {
      return s;
    }
  }
}

}  // namespace tutti::detail::net
