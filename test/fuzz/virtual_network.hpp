// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "virtual_time.hpp"
#include <tutti/detail/core/descriptor.hpp>

#include <cstddef>
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

/// The other ends of the connections that the program has begun, in order.
inline std::vector<descriptor> peers;

/// Says something at the other end of a connection, as much as the system takes at once.
inline void say(descriptor const& peer, std::string_view words) {
  static_cast<void>(::send(peer.get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

/// A listener, and the ends of the connections to it.
class listener {
 public:
  listener() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ::bind(socket_.get(), reinterpret_cast<sockaddr const*>(&address),
           sizeof address.sun_family);  // the system gives a name
    ::listen(socket_.get(), 128);
  }

  [[nodiscard]] descriptor take() noexcept { return std::move(socket_); }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  /// Connects, and says something.
  descriptor connect(std::string_view words) const {
    sockaddr_un name{};
    socklen_t length = sizeof name;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &length);
    descriptor peer = make();
    ::syscall(SYS_connect, peer.get(), &name, length);
    say(peer, words);
    return peer;
  }

 private:
  static descriptor make() {
    return descriptor([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  }

  descriptor socket_ = make();
};

}  // namespace fuzz

extern "C" int connect(int socket, sockaddr const*, socklen_t) {
  auto [socket_end, peer_end] = tutti::detail::stream_pair();
  ::dup3(socket_end.get(), socket, O_CLOEXEC);
  fuzz::peers.push_back(std::move(peer_end));
  return 0;
}
