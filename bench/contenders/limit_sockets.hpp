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
  std::vector<place> result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    std::size_t const sign = text.find('@', begin);
    if (sign >= end) {
      throw std::runtime_error("hosts=" + text + ": NAMESPACE@ADDRESS,... is expected");
    }
    result.push_back({text.substr(begin, sign - begin), text.substr(sign + 1, end - sign - 1)});
    begin = end + 1;
  }
  return result;
}

/// TCP connections, one between each two ranks: over the loopback interface, or between the given places.
class sockets {
 public:
  /// @throws std::runtime_error if they cannot be made
  explicit sockets(unsigned size, std::vector<place> places = {}) : ends_(size, std::vector<int>(size, -1)) {
    if (!places.empty() && places.size() != size) {
      throw std::runtime_error("hosts= names " + std::to_string(places.size()) + " places for " + std::to_string(size) +
                               " ranks");
    }
    places.resize(size);
    for (unsigned a = 0; a < size; ++a) {
      for (unsigned b = 0; b < a; ++b) {
        std::tie(ends_[a][b], ends_[b][a]) = connect_pair(places[a], places[b]);
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
  [[nodiscard]] int socket(unsigned rank, unsigned peer) const noexcept { return ends_[rank][peer]; }

 private:
  static int check(int result) {
    if (result < 0) {
      throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    }
    return result;
  }
  /// Makes a socket, which belongs for good to the namespace of its thread at that time.
  static int socket_at(place const& place) {
    if (!place.space.empty()) {
      int const space = check(::open(("/run/netns/" + place.space).c_str(), O_RDONLY | O_CLOEXEC));
      check(::setns(space, CLONE_NEWNET));
      ::close(space);
    }
    return check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  static std::pair<int, int> connect_pair(place const& client, place const& server) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::inet_pton(AF_INET, server.address.c_str(), &address.sin_addr) != 1) {
      throw std::runtime_error("\"" + server.address + "\" is no address");
    }
    socklen_t length = sizeof address;
    auto* const generic_address = reinterpret_cast<sockaddr*>(&address);
    int const listener = socket_at(server);
    check(::bind(listener, generic_address, length));
    check(::listen(listener, 1));
    check(::getsockname(listener, generic_address, &length));
    int const client_end = socket_at(client);
    check(::connect(client_end, generic_address, length));
    int const server_end = check(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    ::close(listener);
    for (int const s : {client_end, server_end}) {
      int const yes = 1;
      check(::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
      // Settings that tutti makes, too: no pacing, and a large window from the first byte on.
      int const window = 4 << 20;
      check(::setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
      check(::setsockopt(s, SOL_SOCKET, SO_RCVLOWAT, &window, sizeof window));
      check(::setsockopt(s, SOL_SOCKET, SO_RCVLOWAT, &yes, sizeof yes));
    }
    return {client_end, server_end};
  }

  std::vector<std::vector<int>> ends_;
};

}  // namespace bench
