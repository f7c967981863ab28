// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/tcp/address.hpp>
#include <tutti/extend/error.hpp>

#include <cstdlib>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL address listening_address(std::string const& host) {
  address const at = interface_address(host);
  if (at.is_any()) {
    throw error(failure::join, "a rank of tcp listens at one address that the others reach, which " + host +
                                   " is not; name the interface that leads to them with TUTTI_INTERFACE or "
                                   "tcp_options::network_interface");
  }
  return at;
}

TUTTI_DECL card card::mine(address const& at, tcp_options const& o) {
  return {at, o.world != world_id{} ? o.world : world_id{draw_number(), draw_number()}, node_identity()};
}

TUTTI_DECL std::string card::text() const {
  return at.through(0).text() + " " + std::to_string(world[0]) + " " + std::to_string(world[1]) + " " + node;
}

TUTTI_DECL card card::parse(std::string_view text) {
  card c{};
  std::string_view rest = text;
  auto const word = [&rest] {
    std::string_view const w = rest.substr(0, rest.find(' '));
    rest.remove_prefix((std::min)(rest.size(), w.size() + 1));
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
    throw error(failure::join, "a rank has published '" + std::string(text) +
                                   "', which is no address of a tcp transport: all ranks must have the same transport");
  }
  c.at = resolve(at.host, at.port).front();
  c.node = rest;
  return c;
}

/// Refuses two hosts that have the same address, as bridges of containers have: it leads from neither to the other.
/// @throws error(failure::join)
TUTTI_DECL void expect_addresses_of_their_own(std::vector<card> const& cards) {
  struct place {
    std::string const* host;
    rank_type rank;
  };
  std::vector<std::string> hosts(cards.size());
  std::vector<place> places;
  places.reserve(cards.size());
  for (rank_type r = 0; r < cards.size(); ++r) {
    if (!cards[r].node.empty() && !cards[r].at.is_link_local()) {
      hosts[r] = cards[r].at.host();
      places.push_back({&hosts[r], r});
    }
  }
  std::qsort(places.data(), places.size(), sizeof(place), [](void const* left, void const* right) {
    place const& a = *static_cast<place const*>(left);
    place const& b = *static_cast<place const*>(right);
    int const order = a.host->compare(*b.host);
    return order != 0 ? order : a.rank < b.rank ? -1 : 1;
  });
  for (std::size_t i = 1; i < places.size(); ++i) {
    std::string const& host = *places[i].host;
    rank_type const first = places[i - 1].rank;
    rank_type const second = places[i].rank;
    if (host == *places[i - 1].host && cards[first].node != cards[second].node) {
      throw error(failure::join,
                  "rank " + std::to_string(first) + " and rank " + std::to_string(second) +
                      " are on different hosts, and both listen at " + host +
                      ": that address leads from neither to the other; name the interface that does with "
                      "TUTTI_INTERFACE or tcp_options::network_interface")
          .between(no_rank, {first, second});
    }
  }
}

TUTTI_DECL directions directions_of(std::vector<std::string> const& texts, address const& own) {
  std::vector<card> cards;
  for (std::string const& text : texts) {
    cards.push_back(card::parse(text));
  }
  directions all{{}, cards.front().world};
  for (rank_type r = 0; r < cards.size(); ++r) {
    address const& at = cards[r].at;
    std::string const where = "rank " + std::to_string(r) + " listens at " + at.host();
    for (rank_type other = 0; at.is_loopback() && other < cards.size(); ++other) {
      if (cards[other].node != cards[r].node) {
        throw error(failure::join, where + ", a loopback address that rank " + std::to_string(other) +
                                       " on another host cannot reach; name its interface with TUTTI_INTERFACE or "
                                       "tcp_options::network_interface")
            .between(no_rank, {r});
      }
    }
    if (at.is_link_local() && own.zone() == 0) {
      throw error(failure::join, where + ", which holds for one link only, and this rank listens at " + own.host() +
                                     ", on another; name the interface of that link on all hosts with TUTTI_INTERFACE "
                                     "or tcp_options::network_interface")
          .between(no_rank, {r});
    }
    all.addresses.push_back(at.through(own.zone()));
  }
  expect_addresses_of_their_own(cards);
  return all;
}

}  // namespace tutti::detail::tcp
