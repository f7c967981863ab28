// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "virtual_time.hpp"
#include <tutti/detail/core/descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

// Replaces connections of this program by local ones, whose other ends speak the words of an input: no port is used,
// and nothing waits.

namespace fuzz {

using tutti::detail::descriptor;

/// The other end of a connection that the program has begun, and the port to which it has.
struct peer_end {
  descriptor socket;
  std::uint16_t port = 0;
};
/// In the order in which the program has begun them.
inline std::vector<peer_end> peers;

/// The ports at which nothing listens.
inline std::vector<std::uint16_t> closed_ports;

/// Says something at the other end of a connection, as much as the system takes at once.
inline void say(descriptor const& peer, std::string_view words) {
  static_cast<void>(::send(peer.get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

/// A listener, and the ends of the connections to it.
class listener {
 public:
  listener() {
    name_.sun_family = AF_UNIX;
    ::bind(socket_.get(), address(), sizeof name_.sun_family);  // the system gives a name
    ::getsockname(socket_.get(), address(), &length_);
    ::listen(socket_.get(), 128);
  }

  [[nodiscard]] descriptor take() noexcept { return std::move(socket_); }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  /// Connects, and says something. Returns none if the listener is closed.
  [[nodiscard]] descriptor connect(std::string_view words) const {
    descriptor peer = make();
    if (::syscall(SYS_connect, peer.get(), &name_, length_) != 0) {
      return {};
    }
    say(peer, words);
    return peer;
  }

 private:
  static descriptor make() {
    return descriptor([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  }
  [[nodiscard]] sockaddr* address() noexcept { return reinterpret_cast<sockaddr*>(&name_); }

  descriptor socket_ = make();
  sockaddr_un name_{};
  socklen_t length_ = sizeof name_;
};

}  // namespace fuzz

extern "C" int connect(int socket, sockaddr const* address, socklen_t) {
  std::uint16_t const port =
      ntohs(reinterpret_cast<sockaddr_in const*>(address)->sin_port);  // sockaddr_in6 has it there, too
  if (std::count(fuzz::closed_ports.begin(), fuzz::closed_ports.end(), port) != 0) {
    errno = ECONNREFUSED;
    return -1;
  }
  auto [socket_end, peer_end] = tutti::detail::stream_pair();
  ::dup3(socket_end.get(), socket, O_CLOEXEC);
  fuzz::peers.push_back({std::move(peer_end), port});
  return 0;
}
