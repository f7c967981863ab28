// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/roles.hpp>

#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

template <group Communicator>
using channels_of = std::vector<tutti::detail::owned<peer_channel<Communicator>>>;

template <group Communicator>
[[nodiscard]] tutti::detail::owned<peer_channel<Communicator>> channel_to(Communicator& world, roles const& roles,
                                                                          rank_type peer) {
  return tutti::detail::owned<peer_channel<Communicator>>(
      new peer_channel<Communicator>(world, peer, roles.name(world.rank()), roles.name(peer)));
}

/// The channels between servers and workers that end at this rank.
template <group Communicator>
channels_of<Communicator> connect(Communicator& world, roles const& roles) {
  channels_of<Communicator> channels;
  for (rank_type k = 0; k != roles.servers(); ++k) {
    for (rank_type w = 0; w != roles.workers(); ++w) {
      rank_type const other = roles.rank_of_worker(w);
      if (world.rank() == k || world.rank() == other) {
        rank_type const peer = world.rank() == k ? other : k;
        channels.push_back(channel_to(world, roles, peer));
      }
    }
  }
  return channels;
}

/// The channels between server 0, which gathers the figures of the others, and each of them, that end at this rank.
template <group Communicator>
channels_of<Communicator> connect_servers(Communicator& world, roles const& roles) {
  channels_of<Communicator> channels;
  for (rank_type k = 1; k != roles.servers(); ++k) {
    if (world.rank() == 0 || world.rank() == k) {
      channels.push_back(channel_to(world, roles, world.rank() == 0 ? k : 0));
    }
  }
  return channels;
}

/// Gives server 0 the figures of the others.
template <group Communicator>
std::vector<figures> gather(Communicator& world, roles const& roles, channels_of<Communicator> const& among_servers,
                            figures const& own) {
  std::vector<figures> all(roles.servers());
  all[0] = own;
  if (world.rank() != 0) {
    among_servers[0]->send(std::span<figures const>(&own, 1)).wait();
    return {};
  }
  for (rank_type k = 1; k != roles.servers(); ++k) {
    among_servers[k - 1]->receive(std::span(&all[k], 1)).wait();
  }
  return all;
}

}  // namespace tutti::nn::parameter_server::detail
