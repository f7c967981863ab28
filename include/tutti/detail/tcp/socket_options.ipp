// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/socket_options.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void keep_alive(int fd, duration silence) noexcept {
  constexpr std::chrono::seconds limit = std::chrono::hours(8);  // the system's limit is 32767 s
  auto const seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(std::min<duration>(silence, limit)).count());
  int const enable = 1;
  int const idle = (std::max)(1, seconds / 2);
  int const interval = (std::max)(1, seconds / 8);
  int const probes = 4;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &enable, sizeof enable);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

TUTTI_DECL bool is_silent(int fd, duration limit) noexcept {
  constexpr unsigned unanswered_probes = 5;
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         (info.tcpi_retransmits >= unanswered_probes || info.tcpi_probes >= unanswered_probes) &&
         std::chrono::milliseconds(info.tcpi_last_ack_recv) > limit;
}

TUTTI_DECL void size_buffers(int fd, tcp_options const& options) noexcept {
  if (options.send_buffer > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options.send_buffer, sizeof options.send_buffer);
  }
  if (options.receive_buffer > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof options.receive_buffer);
  }
}

TUTTI_DECL void suit_one_host(int fd, tcp_options const& options) noexcept {
  constexpr std::string_view congestion_control = "reno";  // every system has it and allows it
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(), congestion_control.size());
  if (options.receive_buffer == 0) {
    int const window = 4 << 20;
    int const at_once = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &window, sizeof window);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &at_once, sizeof at_once);
  }
}

}  // namespace tutti::detail::tcp
