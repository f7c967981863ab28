// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/transport/tcp_options.hpp>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail::net {

/// Where a rank is to listen, port 0.
template <locates_hosts M>
[[nodiscard]] address own_address(M const& meet, tcp_options const& o) {
  std::string host = o.interface;
  if (host.empty()) {
    if constexpr (on_one_host<M>) {
      host = loopback_host();
    } else {
      host = meet.local_host();
    }
  }
  address const at = interface_address(host);
  if (at.is_any()) {
    throw error(failure::join, "a rank of tcp listens at one address that the others reach, which " + host +
                                   " is not; name the interface that leads to them");
  }
  return at;
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

/// What a rank tells the others about itself: "10.0.0.1:41234 0123456789abcdef 0123456789abcdef", and its host.
struct card {
  address at;
  world_id world;
  std::string node;

  [[nodiscard]] std::string text() const {
    return at.through(0).text() + " " + std::to_string(world[0]) + " " + std::to_string(world[1]) + " " + node;
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
    c.node = rest;
    return c;
  }
};

/// Where all ranks are, seen from the one that listens at `own`. On every rank it fails or on none, but for
/// connections.
/// @throws error (failure::join) that names a rank which others cannot reach: at a loopback address of another host,
///         or at an address of a link that this host does not know
[[nodiscard]] inline std::vector<address> addresses_of(std::vector<card> const& cards, address const& own) {
  std::vector<address> all;
  for (rank_type r = 0; r < cards.size(); ++r) {
    address const& at = cards[r].at;
    std::string const where = "rank " + std::to_string(r) + " listens at " + at.host();
    for (rank_type other = 0; at.is_loopback() && other < cards.size(); ++other) {
      if (cards[other].node != cards[r].node) {
        throw error(failure::join, where + ", a loopback address that rank " + std::to_string(other) +
                                       " on another host cannot reach; name its interface with TUTTI_INTERFACE or "
                                       "tcp_options::interface")
            .between(no_rank, {r});
      }
    }
    if (at.is_link_local() && own.link() == 0) {
      throw error(failure::join, where + ", which holds for one link only, and this rank listens at " + own.host() +
                                     ", on another; name the interface of that link on all hosts with TUTTI_INTERFACE "
                                     "or tcp_options::interface")
          .between(no_rank, {r});
    }
    all.push_back(at.through(own.link()));
  }
  return all;
}

}  // namespace tutti::detail::net
