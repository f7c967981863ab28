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

/// How a member of a group talks to another one.
struct group_calls {
  void* of;
  void (*put)(void* of, rank_type to, std::string_view text);
  void (*get)(void* of, rank_type from, std::string& text);
};

/// The exchange of `group_rendezvous`, compiled once for all communicators: up and down a binomial tree, one message
/// for each edge and direction.
[[nodiscard]] TUTTI_DECL std::vector<std::string> exchange_in_group(group_calls const& by,
                                                                    std::vector<rank_type> const& members,
                                                                    rank_type rank, std::string_view mine);

/// "world/ranks 0 3"
[[nodiscard]] TUTTI_DECL std::string name_of_group(std::string const& parent, std::vector<rank_type> const& members);

}  // namespace detail

/// The rendezvous of some of the members of a communicator that works: they exchange through it, along a binomial tree.
/// Other members take no part.
///
/// Cost of an exchange among n members: 2 ceil(log2 n) rounds and 2 (n - 1) messages, of which each member sends at
/// most ceil(log2 n) + 1, and the texts of all members through each edge.
template <group Communicator>
class group_rendezvous {
 public:
  /// `members` are ranks of the parent, in the order of the ranks they will have.
  /// @param name what they are called, if not by their numbers; rank 0's counts
  group_rendezvous(Communicator& parent, std::vector<rank_type> members, rank_type rank, std::string name = {})
      : members_(std::move(members)), rank_(rank), name_(std::move(name)), give_(parent), take_(parent) {}

  /// This rank's number in the group.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of members.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }

  /// Its members, by their ranks in the parent.
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const noexcept { return members_; }

  /// What a communicator that is made here is called, e.g. "world/ranks 0 3".
  [[nodiscard]] std::string name() const {
    if (!name_.empty()) {
      return name_;
    }
    return detail::name_of_group(give_.world().name(), members_);
  }

  /// What the members talk through already, and the number of one of them there.
  [[nodiscard]] auto& transport() const noexcept { return give_.world().transport(); }
  /// The number that member r has in the parent.
  [[nodiscard]] rank_type parent_rank(rank_type r) const noexcept { return members_[r]; }

  /// The number by which other hosts reach this one, if the parent's transport knows.
  [[nodiscard]] std::string local_host() const
    requires requires(typename Communicator::transport_type const& t) { t.local_host(); }
  {
    return give_.world().transport().local_host();
  }

  /// What tells this host from others, if the parent's transport knows.
  [[nodiscard]] std::string node() const
    requires requires(typename Communicator::transport_type const& t) { t.node(); }
  {
    return give_.world().transport().node();
  }

  /// What each member gave, in the order of their numbers. Collective over the members.
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
