// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/tuning.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void keep_alive(int fd, duration silence) noexcept {
  constexpr std::chrono::seconds most = std::chrono::hours(8);  // the system takes no more than 32767 s
  auto const seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(std::min<duration>(silence, most)).count());
  int const on = 1;
  int const idle = (std::max)(1, seconds / 2);
  int const interval = (std::max)(1, seconds / 8);
  int const probes = 4;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

TUTTI_DECL bool silent(int fd, duration limit) noexcept {
  constexpr unsigned repeated = 5;
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         (info.tcpi_retransmits >= repeated || info.tcpi_probes >= repeated) &&
         std::chrono::milliseconds(info.tcpi_last_ack_recv) > limit;
}

TUTTI_DECL void size_buffers(int fd, tcp_options const& o) noexcept {
  if (o.send_buffer > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &o.send_buffer, sizeof o.send_buffer);
  }
  if (o.receive_buffer > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &o.receive_buffer, sizeof o.receive_buffer);
  }
}

TUTTI_DECL void suit_one_host(int fd, tcp_options const& o) noexcept {
  constexpr std::string_view unpaced = "reno";  // the one that every system has and allows
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size());
  if (o.receive_buffer == 0) {
    int const window = 4 << 20;
    int const at_once = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &window, sizeof window);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &at_once, sizeof at_once);
  }
}

}  // namespace tutti::detail::tcp
