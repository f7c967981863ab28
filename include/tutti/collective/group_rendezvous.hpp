// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {
namespace detail {

/// The functions by which a member of a group sends to another one, and receives.
struct group_calls {
  void* object;
  void (*send)(void* object, rank_type receiver, std::string_view text);
  void (*receive)(void* object, rank_type sender, std::string& text);
};

/// Runs the exchange of `group_rendezvous`, compiled once for all communicators: up and down a binomial tree, with one
/// message for each edge and direction.
[[nodiscard]] TUTTI_DECL std::vector<std::string> exchange_in_group(group_calls const& calls,
                                                                    std::vector<rank_type> const& members,
                                                                    rank_type rank, std::string_view text);

/// The default name of a group: "world/ranks 0 3".
[[nodiscard]] TUTTI_DECL std::string name_of_group(std::string const& parent, std::vector<rank_type> const& members);

}  // namespace detail

/// The rendezvous of some members of a working communicator: they exchange texts through it, along a binomial tree.
/// Other members take no part.
///
/// Cost of an exchange among n members: 2 ceil(log2 n) rounds and 2 (n - 1) messages, at most ceil(log2 n) + 1 from
/// each member, with the texts of all members through each edge.
template <group Communicator>
class group_rendezvous {
 public:
  /// Constructs the rendezvous of `members`, ranks of the parent, which are numbered in this order.
  /// @param name the name of the group instead of its default; rank 0's applies
  group_rendezvous(Communicator& parent, std::vector<rank_type> members, rank_type rank, std::string name = {})
      : members_(std::move(members)), rank_(rank), name_(std::move(name)), send_(parent), receive_(parent) {}

  /// This rank's number in the group.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of members.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }

  /// The members, by their ranks in the parent.
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const noexcept { return members_; }

  /// The name of a communicator made by this rendezvous, e.g. "world/ranks 0 3".
  [[nodiscard]] std::string name() const {
    if (!name_.empty()) {
      return name_;
    }
    return detail::name_of_group(send_.world().name(), members_);
  }

  /// The parent's transport, through which the members communicate already.
  [[nodiscard]] auto& transport() const noexcept { return send_.world().transport(); }
  /// The rank of member r in the parent.
  [[nodiscard]] rank_type parent_rank(rank_type r) const noexcept { return members_[r]; }

  /// The address by which other hosts reach this one, if the parent's transport knows it.
  [[nodiscard]] std::string local_host() const
    requires requires(typename Communicator::transport_type const& t) { t.local_host(); }
  {
    return send_.world().transport().local_host();
  }

  /// The name that identifies this host, if the parent's transport knows it.
  [[nodiscard]] std::string node() const
    requires requires(typename Communicator::transport_type const& t) { t.node(); }
  {
    return send_.world().transport().node();
  }

  /// The secret that the members of the parent share, or none.
  [[nodiscard]] world_secret secret() const { return whole().secret; }

  /// Returns the texts of all members, in order. Collective over the members.
  std::vector<std::string> exchange(std::string_view text) {
    return detail::exchange_in_group(
        {.object = this,
         .send = [](void* object, rank_type receiver,
                    std::string_view message) { static_cast<group_rendezvous*>(object)->send(receiver, message); },
         .receive = [](void* object, rank_type sender,
                       std::string& message) { static_cast<group_rendezvous*>(object)->receive(sender, message); }},
        members_, rank_, text);
  }

 private:
  friend struct detail::access;

  [[nodiscard]] detail::rank_state const& whole() const { return detail::access::state(send_.world()); }

  void send(rank_type receiver, std::string_view text) {
    std::array<std::uint64_t, 1> const size{text.size()};
    send_(size, receiver);
    send_(text, receiver);
  }
  void receive(rank_type sender, std::string& text) {
    std::array<std::uint64_t, 1> size{};
    receive_(size, sender);
    text.resize(detail::integer_cast<std::size_t>(size[0]));
    receive_(text, sender);
  }

  std::vector<rank_type> members_;
  rank_type rank_;
  std::string name_;
  tutti::send<Communicator> send_;
  tutti::recv<Communicator> receive_;
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/collective/group_rendezvous.ipp>
#endif
