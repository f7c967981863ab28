// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/address.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/transport/tcp_hello.hpp>
#include <tutti/transport/tcp_options.hpp>

#include <concepts>
#include <random>
#include <string>
#include <string_view>

namespace tutti::net {

/// A rendezvous that knows by which number the other members reach this host.
template <class M>
concept knows_local_host = requires(M const& m) {
  { m.local_host() } -> std::convertible_to<std::string>;
};

/// Where a rank is to listen, port 0.
template <class M>
[[nodiscard]] address own_address(M const& meet, tcp_options const& o) {
  std::string host = o.interface;
  if (host.empty()) {
    host = "127.0.0.1";
    if constexpr (knows_local_host<M>) {
      host = meet.local_host();
    }
  }
  in6_addr number;
  bool const numeric = host.find('%') != std::string::npos || ::inet_pton(AF_INET, host.c_str(), &number) == 1 ||
                       ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
  return numeric ? resolve(host, 0).front() : interface_address(host);
}

/// The identity of a world, which rank 0 chooses.
[[nodiscard]] inline world_id make_world(tcp_options const& o) {
  if (o.world != world_id{}) {
    return o.world;
  }
  std::random_device source;
  world_id id;
  for (std::uint64_t& word : id) {
    word = std::uint64_t{source()} << 32 | source();
  }
  return id;
}

/// What a rank tells the others about itself: "10.0.0.1:41234 0123456789abcdef 0123456789abcdef".
struct card {
  address at;
  world_id world;

  [[nodiscard]] std::string text() const {
    return at.text() + " " + std::to_string(world[0]) + " " + std::to_string(world[1]);
  }

  /// @throws error (failure::join)
  [[nodiscard]] static card parse(std::string_view text) {
    card c{};
    std::string_view rest = text;
    auto const word = [&rest] {
      std::string_view const w = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), w.size() + 1));
      return w;
    };
    host_port at;
    bool good = net::parse(word(), at);
    for (std::uint64_t& w : c.world) {
      std::string_view const digits = word();
      good = good && !digits.empty();
      for (char const d : digits) {
        good = good && d >= '0' && d <= '9';
        w = w * 10 + static_cast<std::uint64_t>(d - '0');
      }
    }
    if (!good) {
      throw error(failure::join,
                  "a rank has published what is no address of a tcp transport: '" + std::string(text) + "'");
    }
    c.at = resolve(at.host, at.port).front();
    return c;
  }
};

}  // namespace tutti::net
