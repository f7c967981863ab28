// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/send_recv.hpp>
#include <tutti/rendezvous.hpp>

#include <string>
#include <vector>

namespace tutti {

/// The rendezvous of some of the members of a communicator that works: they exchange through it. The
/// first of them gathers the texts and hands all of them to each. Other members take no part.
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
    std::string all = give_.world().name() + "/ranks";
    for (rank_type const r : members_) {
      all.append(" ").append(std::to_string(r));
    }
    return all;
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
    std::vector<std::string> all(members_.size());
    all[rank_] = mine;
    if (rank_ != 0) {
      put(members_[0], mine);
      for (std::string& text : all) {
        text = get(members_[0]);
      }
      return all;
    }
    for (rank_type r = 1; r < size(); ++r) {
      all[r] = get(members_[r]);
    }
    for (rank_type r = 1; r < size(); ++r) {
      for (std::string const& text : all) {
        put(members_[r], text);
      }
    }
    return all;
  }

 private:
  void put(rank_type to, std::string_view text) {
    std::uint64_t const size = text.size();
    give_(std::span(&size, 1), to);
    give_(text, to);
  }
  std::string get(rank_type from) {
    std::uint64_t size = 0;
    take_(std::span(&size, 1), from);
    std::string text(static_cast<std::size_t>(size), '\0');
    take_(text, from);
    return text;
  }

  std::vector<rank_type> members_;
  rank_type rank_;
  std::string name_;
  tutti::send<Communicator> give_;
  tutti::recv<Communicator> take_;
};

}  // namespace tutti
