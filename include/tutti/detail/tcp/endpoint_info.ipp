// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <cstdlib>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL address listening_address(std::string const& host) {
  address const listening = interface_address(host);
  if (listening.is_any()) {
    throw error(failure::join, "a rank of tcp cannot listen at " + host +
                                   ", which stands for several addresses; name one interface with TUTTI_INTERFACE or "
                                   "tcp_options::network_interface");
  }
  return listening;
}

/// Sixteen digits that are equal on ranks with the same secret, and tell nobody the secret; "-" without one.
[[nodiscard]] TUTTI_DECL std::string fingerprint_of(world_secret const& secret) {
  if (!secret) {
    return "-";
  }
  proof const tag = proof_key(secret).prove("same", {});
  std::string digits;
  for (std::size_t i = 0; i < 8; ++i) {
    digits += "0123456789abcdef"[static_cast<unsigned>(tag[i]) >> 4U];
    digits += "0123456789abcdef"[static_cast<unsigned>(tag[i]) & 15U];
  }
  return digits;
}

TUTTI_DECL endpoint_info endpoint_info::make(address const& listening, tcp_options const& options,
                                             world_secret const& secret) {
  return {.listening = listening,
          .world = options.world != world_id{} ? options.world : world_id{draw_number(), draw_number()},
          .nonce = draw_nonce(),
          .fingerprint = fingerprint_of(secret),
          .encryption = options.encryption ? "encrypted" : "clear",
          .node = node_identity()};
}

TUTTI_DECL std::string endpoint_info::text() const {
  return listening.with_zone(0).text() + " " + std::to_string(world[0]) + " " + std::to_string(world[1]) + " " +
         std::to_string(version) + " " + nonce + " " + fingerprint + " " + encryption + " " + node;
}

TUTTI_DECL endpoint_info endpoint_info::parse(std::string_view text) {
  endpoint_info info{};
  std::string_view rest = text;
  auto const word = [&rest] {
    std::string_view const w = rest.substr(0, rest.find(' '));
    rest.remove_prefix((std::min)(rest.size(), w.size() + 1));
    return w;
  };
  host_port at;
  bool is_valid = net::parse(word(), at);
  info.version = 0;
  for (std::uint64_t* const number : {&info.world[0], &info.world[1], &info.version}) {
    std::string_view const digits = word();
    is_valid = is_valid && !digits.empty();
    for (char const d : digits) {
      is_valid = is_valid && d >= '0' && d <= '9';
      *number = *number * 10 + static_cast<std::uint64_t>(d - '0');
    }
  }
  if (!is_valid) {
    throw error(
        failure::join,
        "a rank has published '" + std::string(text) +
            "', which is not an address of tcp: all ranks must have the same transport, and the same version of tutti");
  }
  info.listening = resolve(at.host, at.port).front();
  info.nonce = word();
  info.fingerprint = word();
  info.encryption = word();
  info.node = rest;
  return info;
}

TUTTI_DECL void expect_own_text(std::vector<std::string> const& texts, rank_type me, std::string_view own_text) {
  if (me >= texts.size() || texts[me] != own_text) {
    throw error(failure::join, "the meeting returned another text for rank " + std::to_string(me) +
                                   " than this rank has published: '" +
                                   (me < texts.size() ? texts[me] : std::string()) + "' instead of '" +
                                   std::string(own_text) + "'; see which other program takes part in the meeting")
        .set_ranks(me, {me});
  }
}

/// Refuses two hosts with the same address, as bridges of containers have: it connects neither to the other.
/// @throws error(failure::join)
TUTTI_DECL void expect_addresses_of_their_own(std::vector<endpoint_info> const& endpoints) {
  struct place {
    std::string const* host;
    rank_type rank;
  };
  std::vector<std::string> hosts(endpoints.size());
  std::vector<place> places;
  places.reserve(endpoints.size());
  for (rank_type r = 0; r < endpoints.size(); ++r) {
    if (!endpoints[r].node.empty() && !endpoints[r].listening.is_link_local()) {
      hosts[r] = endpoints[r].listening.host();
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
    if (host == *places[i - 1].host && endpoints[first].node != endpoints[second].node) {
      throw error(failure::join, "rank " + std::to_string(first) + " and rank " + std::to_string(second) +
                                     " are on different hosts, and both listen at " + host +
                                     "; name interfaces with addresses of their own with TUTTI_INTERFACE or "
                                     "tcp_options::network_interface")
          .set_ranks(no_rank, {first, second});
    }
  }
}

/// Refuses ranks whose hellos rank 0 would not take. Each rank compares the same texts.
/// @throws error(failure::join)
TUTTI_DECL void expect_one_protocol(std::vector<endpoint_info> const& endpoints) {
  endpoint_info const& first = endpoints.front();
  for (rank_type r = 1; r < endpoints.size(); ++r) {
    endpoint_info const& other = endpoints[r];
    std::string const rank = "rank " + std::to_string(r);
    if (other.version != first.version) {
      throw error(failure::join, rank + " speaks version " + std::to_string(other.version) +
                                     " of the protocol of tcp, and rank 0 version " + std::to_string(first.version) +
                                     "; build all ranks with the same version of tutti")
          .set_ranks(no_rank, {r});
    }
    if (other.fingerprint != first.fingerprint) {
      std::string const difference = other.fingerprint == "-"   ? " has no secret, and rank 0 has one"
                                     : first.fingerprint == "-" ? " has a secret, and rank 0 has none"
                                                                : " and rank 0 have different secrets";
      throw error(failure::join,
                  rank + difference + "; give all ranks the same by TUTTI_SECRET_FILE or TUTTI_SECRET, or none of them")
          .set_ranks(no_rank, {r});
    }
    if (other.encryption != first.encryption) {
      bool const is_encrypted = other.encryption == "encrypted";
      throw error(failure::join,
                  rank + (is_encrypted ? " encrypts, and rank 0 does not" : " does not encrypt, and rank 0 does") +
                      "; give all ranks the same transport and tcp_options::encryption")
          .set_ranks(no_rank, {r});
    }
  }
}

TUTTI_DECL directions directions_of(std::vector<std::string> const& texts, address const& own_address,
                                    world_secret const& secret) {
  std::vector<endpoint_info> endpoints;
  for (std::string const& text : texts) {
    endpoints.push_back(endpoint_info::parse(text));
  }
  expect_one_protocol(endpoints);
  directions world{{}, endpoints.front().world, proof_key(secret).derive("tcp", {packer().texts(texts).take()})};
  for (rank_type r = 0; r < endpoints.size(); ++r) {
    address const& listening = endpoints[r].listening;
    std::string const place = "rank " + std::to_string(r) + " listens at " + listening.host();
    for (rank_type other = 0; listening.is_loopback() && other < endpoints.size(); ++other) {
      if (endpoints[other].node != endpoints[r].node) {
        throw error(failure::join, place + ", a loopback address that rank " + std::to_string(other) +
                                       " on another host cannot reach; name its interface with TUTTI_INTERFACE or "
                                       "tcp_options::network_interface")
            .set_ranks(no_rank, {r});
      }
    }
    if (listening.is_link_local() && own_address.zone() == 0) {
      throw error(failure::join, place + ", an address of one link, and this rank listens at " + own_address.host() +
                                     " on another; name the interface of one link on all hosts with TUTTI_INTERFACE or "
                                     "tcp_options::network_interface")
          .set_ranks(no_rank, {r});
    }
    world.addresses.push_back(listening.with_zone(own_address.zone()));
  }
  expect_addresses_of_their_own(endpoints);
  return world;
}

}  // namespace tutti::detail::tcp
