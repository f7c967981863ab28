// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/extend/rendezvous.hpp>

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
  void* of;
  void (*put)(void* of, rank_type to, std::string_view text);
  void (*get)(void* of, rank_type from, std::string& text);
};

/// Runs the exchange of `group_rendezvous`, compiled once for all communicators: up and down a binomial tree, with one
/// message for each edge and direction.
[[nodiscard]] TUTTI_DECL std::vector<std::string> exchange_in_group(group_calls const& by,
                                                                    std::vector<rank_type> const& members,
                                                                    rank_type rank, std::string_view mine);

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
      : members_(std::move(members)), rank_(rank), name_(std::move(name)), give_(parent), take_(parent) {}

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
    return detail::name_of_group(give_.world().name(), members_);
  }

  /// The parent's transport, through which the members communicate already.
  [[nodiscard]] auto& transport() const noexcept { return give_.world().transport(); }
  /// The rank of member r in the parent.
  [[nodiscard]] rank_type parent_rank(rank_type r) const noexcept { return members_[r]; }

  /// The address by which other hosts reach this one, if the parent's transport knows it.
  [[nodiscard]] std::string local_host() const
    requires requires(typename Communicator::transport_type const& t) { t.local_host(); }
  {
    return give_.world().transport().local_host();
  }

  /// The name that identifies this host, if the parent's transport knows it.
  [[nodiscard]] std::string node() const
    requires requires(typename Communicator::transport_type const& t) { t.node(); }
  {
    return give_.world().transport().node();
  }

  /// Returns the texts of all members, in order. Collective over the members.
  std::vector<std::string> exchange(std::string_view mine) {
    return detail::exchange_in_group(
        {.of = this,
         .put = [](void* p, rank_type to, std::string_view text) { static_cast<group_rendezvous*>(p)->put(to, text); },
         .get = [](void* p, rank_type from, std::string& text) { static_cast<group_rendezvous*>(p)->get(from, text); }},
        members_, rank_, mine);
  }

 private:
  friend struct detail::access;

  [[nodiscard]] detail::rank_state const& whole() const { return detail::access::state(give_.world()); }

  void put(rank_type to, std::string_view text) {
    std::array<std::uint64_t, 1> const size{text.size()};
    give_(size, to);
    give_(text, to);
  }
  void get(rank_type from, std::string& text) {
    std::array<std::uint64_t, 1> size{};
    take_(size, from);
    text.resize(detail::integer_cast<std::size_t>(size[0]));
    take_(text, from);
  }

  std::vector<rank_type> members_;
  rank_type rank_;
  std::string name_;
  tutti::send<Communicator> give_;
  tutti::recv<Communicator> take_;
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/collective/group_rendezvous.ipp>
#endif
