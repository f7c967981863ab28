// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/host_map.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

namespace tutti::inline v0_1_0::detail::inline locality {

/// The rendezvous of one host's ranks within the rendezvous of all: all hosts' ranks exchange at one time, through one
/// exchange of all.
template <class Meet>
class near_rendezvous {
 public:
  near_rendezvous(Meet& meeting, host_map const& hosts)
      : meeting_(&meeting), members_(&hosts.members(hosts.host(meeting.rank()))), rank_(hosts.local(meeting.rank())) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_->size()); }
  [[nodiscard]] rank_type world_rank(rank_type r) const noexcept { return (*members_)[r]; }

  [[nodiscard]] rank_type reported_rank(rank_type r) const { return detail::reported_rank(*meeting_, world_rank(r)); }

  /// The transport that already connects the ranks, if all are members of such a world.
  [[nodiscard]] auto& transport() const
    requires requires(Meet& m) { m.transport().within_host(); }
  {
    return meeting_->transport().within_host();
  }
  [[nodiscard]] rank_type parent_rank(rank_type r) const
    requires requires(Meet& m) { m.transport().within_host(); }
  {
    return meeting_->transport().rank_within_host(meeting_->parent_rank(world_rank(r)));
  }

  [[nodiscard]] world_secret secret() const { return secret_of(*meeting_); }

  std::vector<std::string> exchange(std::string_view text) {
    std::vector<std::string> const texts = meeting_->exchange(text);
    std::vector<std::string> local_texts;
    for (rank_type const r : *members_) {
      local_texts.push_back(texts[r]);
    }
    return local_texts;
  }

 private:
  Meet* meeting_;
  std::vector<rank_type> const* members_;
  rank_type rank_;
};

}  // namespace tutti::detail::locality
