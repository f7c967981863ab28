// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

/// The network place of a rank's connections.
struct place {
  std::string space{};  ///< name of a network namespace of `ip netns`; empty: the current one
  std::string address = "127.0.0.1";
};

/// Reads NAMESPACE@ADDRESS,... of each rank.
/// @throws std::runtime_error if it is not of that form
inline std::vector<place> places(std::string const& text) {
  std::vector<place> found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find(',', at), text.size());
    std::size_t const sign = text.find('@', at);
    if (sign >= end) {
      throw std::runtime_error("hosts=" + text + ": NAMESPACE@ADDRESS,... is expected");
    }
    found.push_back({text.substr(at, sign - at), text.substr(sign + 1, end - sign - 1)});
    at = end + 1;
  }
  return found;
}

/// TCP connections, one between each two ranks: over the loopback interface, or between the given places.
class sockets {
 public:
  /// @throws std::runtime_error if they cannot be made
  explicit sockets(unsigned size, std::vector<place> at = {}) : ends_(size, std::vector<int>(size, -1)) {
    if (!at.empty() && at.size() != size) {
      throw std::runtime_error("hosts= names " + std::to_string(at.size()) + " places for " + std::to_string(size) +
                               " ranks");
    }
    at.resize(size);
    for (unsigned a = 0; a < size; ++a) {
      for (unsigned b = 0; b < a; ++b) {
        std::tie(ends_[a][b], ends_[b][a]) = connection(at[a], at[b]);
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
      throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    }
    return result;
  }
  /// Makes a socket, which belongs for good to the namespace of its thread at that time.
  static int socket_at(place const& where) {
    if (!where.space.empty()) {
      int const space = checked(::open(("/run/netns/" + where.space).c_str(), O_RDONLY | O_CLOEXEC));
      checked(::setns(space, CLONE_NEWNET));
      ::close(space);
    }
    return checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  static std::pair<int, int> connection(place const& from, place const& to) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::inet_pton(AF_INET, to.address.c_str(), &address.sin_addr) != 1) {
      throw std::runtime_error("\"" + to.address + "\" is no address");
    }
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    int const listener = socket_at(to);
    checked(::bind(listener, any, length));
    checked(::listen(listener, 1));
    checked(::getsockname(listener, any, &length));
    int const one = socket_at(from);
    checked(::connect(one, any, length));
    int const other = checked(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    ::close(listener);
    for (int const s : {one, other}) {
      int const yes = 1;
      checked(::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
      // Settings that tutti makes, too: no pacing, and a large window from the first byte on.
      int const window = 4 << 20;
      checked(::setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
      checked(::setsockopt(s, SOL_SOCKET, SO_RCVLOWAT, &window, sizeof window));
      checked(::setsockopt(s, SOL_SOCKET, SO_RCVLOWAT, &yes, sizeof yes));
    }
    return {one, other};
  }

  std::vector<std::vector<int>> ends_;
};

}  // namespace bench
