// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel_trace.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

template <class Communicator>
struct pair_communicator;
template <class Transport, rank_type N, class Trace>
struct pair_communicator<communicator<Transport, N, Trace>> {
  using type = communicator<Transport, dynamic, peer_channel_trace<Trace>>;
};

/// One rank's end of what joins it to another: a communicator of the two. So a rank that is lost takes with it the
/// channels that end at it, and no others. Counts what moves, and records it with the world's tracer.
template <group Communicator>
class peer_channel {
 public:
  using communicator_type = typename pair_communicator<Communicator>::type;

  /// Collective over the two, in the same order everywhere.
  /// @param peer a rank of the world, called `name`
  peer_channel(Communicator& world, rank_type peer, std::string const& own_name, std::string name)
      : self_(world.rank()),
        peer_(peer),
        name_(std::move(name)),
        pair_(connect(world, peer, own_name)),
        give_(*pair_),
        take_(*pair_) {
    take_.deadline(world.deadline());
  }

  [[nodiscard]] communicator_type& communicator() const noexcept { return *pair_; }
  [[nodiscard]] traffic const& moved() const noexcept { return moved_; }
  /// What the peer is called, and its rank in the world.
  [[nodiscard]] std::string name() const { return name_ + " (rank " + std::to_string(peer_) + ")"; }
  /// How long a message may be waited for.
  void patience(duration limit) noexcept { take_.deadline(limit); }

  template <class T>
  [[nodiscard]] request send(std::span<T const> elements) {
    ++moved_.messages_sent;
    moved_.bytes_sent += elements.size_bytes();
    return give_.start(elements, other());
  }
  /// Counted when it is started.
  template <class T>
  [[nodiscard]] request receive(std::span<T> elements) {
    ++moved_.messages_received;
    moved_.bytes_received += elements.size_bytes();
    return take_.start(elements, other());
  }

  /// An error of this channel, in the numbers of the world.
  [[nodiscard]] error blamed(error const& e) const {
    error result(e.facts(), name() + " is lost to rank " + std::to_string(self_) + ": " + e.what());
    return result.between(self_, {peer_});
  }

 private:
  static tutti::detail::owned<communicator_type> connect(Communicator& world, rank_type peer,
                                                         std::string const& own_name) {
    bool const first = world.rank() < peer;
    group_rendezvous meet(world, first ? std::vector{world.rank(), peer} : std::vector{peer, world.rank()},
                          first ? 0U : 1U);
    auto settings = world.settings();
    settings.role = own_name + ", rank " + std::to_string(world.rank()) + " of the world,";
    return tutti::detail::owned<communicator_type>(
        new communicator_type(meet, settings, {world.trace(), world.rank(), peer}));
  }
  [[nodiscard]] rank_type other() const noexcept { return 1 - pair_->rank(); }

  rank_type self_;
  rank_type peer_;
  std::string name_;
  tutti::detail::owned<communicator_type> pair_;
  tutti::send<communicator_type> give_;
  tutti::recv<communicator_type> take_;
  traffic moved_;
};

}  // namespace tutti::nn::parameter_server::detail
