// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/descriptor.hpp>
#include <tutti/core/error.hpp>
#include <tutti/core/owned.hpp>
#include <tutti/core/types.hpp>

#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

namespace tutti {

/// Wakes processes of one host: each has a datagram socket, which the others reach by name. The
/// names lie in Linux's abstract namespace, so nothing stays behind when a process is killed.
class datagram_doorbells {
 public:
  /// This rank's own bell. @throws error(failure::join)
  void open(std::string_view name) {
    bell_ = socket();
    sockaddr_un const here = address_of(name);
    if (!bell_ || ::bind(bell_.get(), reinterpret_cast<sockaddr const*>(&here), length(name)) != 0) {
      throw error(failure::join, "no local socket for the doorbell: " + describe_errno(errno));
    }
  }

  /// Learns the names of all ranks. @throws error(failure::join) if one is out of reach
  template <class Names>
  void connect(Names const& names) {
    descriptor const probe = socket();
    peers_ = owned_array<peer>(names.size());
    for (std::size_t r = 0; r < names.size(); ++r) {
      peers_[r] = {address_of(names[r]), length(names[r])};
      if (::connect(probe.get(), reinterpret_cast<sockaddr const*>(&peers_[r].name), peers_[r].length) != 0) {
        throw error(failure::join, "rank " + std::to_string(r) + " cannot be reached over a local socket (" +
                                       describe_errno(errno) +
                                       "): the ranks must share a network namespace to use shared_memory");
      }
    }
  }

  [[nodiscard]] int own() const noexcept { return bell_.get(); }

  void ring(rank_type r) const noexcept {
    // Fails when the peer is gone, or has so many rings waiting that one more makes no difference.
    char const ring = 0;
    ::sendto(bell_.get(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<sockaddr const*>(&peers_[r].name),
             peers_[r].length);
  }
  void silence() const noexcept {
    char ring = 0;
    while (::recv(bell_.get(), &ring, 1, MSG_DONTWAIT) >= 0) {
    }
  }

 private:
  struct peer {
    sockaddr_un name;
    socklen_t length;
  };

  static descriptor socket() noexcept {
    return descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  /// A name that starts with a zero byte belongs to no file.
  static sockaddr_un address_of(std::string_view name) noexcept {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    name.substr(0, sizeof a.sun_path - 1).copy(a.sun_path + 1, sizeof a.sun_path - 1);
    return a;
  }
  static socklen_t length(std::string_view name) noexcept {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }

  descriptor bell_;
  owned_array<peer> peers_;
};

}  // namespace tutti
