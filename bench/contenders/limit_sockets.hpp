// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

/// TCP connections over the loopback interface, one between each two ranks.
class sockets {
 public:
  explicit sockets(unsigned size) : ends_(size, std::vector<int>(size, -1)) {
    for (unsigned a = 0; a < size; ++a) {
      for (unsigned b = 0; b < a; ++b) {
        std::tie(ends_[a][b], ends_[b][a]) = connection();
      }
    }
  }
  sockets(sockets const&) = delete;
  sockets& operator=(sockets const&) = delete;
  ~sockets() {
    for (auto const& row : ends_) {
      for (int const s : row) {
        if (s >= 0) {
          ::close(s);
        }
      }
    }
  }

  /// The end of `rank` of its connection with `peer`.
  [[nodiscard]] int between(unsigned rank, unsigned peer) const noexcept { return ends_[rank][peer]; }

 private:
  static int checked(int result) {
    if (result < 0) {
      throw std::runtime_error(std::string("cannot connect over the loopback interface: ") + std::strerror(errno));
    }
    return result;
  }
  static std::pair<int, int> connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    int const door = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    checked(::bind(door, any, length));
    checked(::listen(door, 1));
    checked(::getsockname(door, any, &length));
    int const one = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    checked(::connect(one, any, length));
    int const other = checked(::accept4(door, nullptr, nullptr, SOCK_CLOEXEC));
    ::close(door);
    for (int const s : {one, other}) {
      int const yes = 1;
      checked(::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
    }
    return {one, other};
  }

  std::vector<std::vector<int>> ends_;
};

}  // namespace bench
