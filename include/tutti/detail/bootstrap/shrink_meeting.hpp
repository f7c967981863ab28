// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// One member's part in `shrink`, by which the survivors of a world find each other. The member has a listener from
/// the beginning, and the addresses of all others' listeners. A listener closes when its owner ends, in whatever way,
/// so the system itself tells who is gone. Ranks are those of the original world. Used by one thread at a time.
///
/// The lowest surviving rank is the host. Each member tries the listeners of lower ranks in ascending order and
/// considers a rank gone if its listener refuses. If a host ends, its guests try the next listener. The host waits for
/// all members that are not gone, and decides.
///
/// Law: no two groups continue from one world. A member that neither joins nor is known to be gone is *silent*: it may
/// be cut off and have continued elsewhere. A group continues if it is larger than the number of silent members, or as
/// large and contains the lowest rank of both. (A quorum: Gifford, "Weighted voting for replicated data", SOSP 1979;
/// members known to be dead have no vote.) Before it continues, it leaves a notice at the listener of each silent or
/// left-out member. If such a member wakes after the group has ended, it finds all listeners closed, and the notice.
/// So the law holds unless the system of a silent member cannot be reached when the group decides.
class shrink_meeting {
 public:
  /// @param places the address of every member's listener, by rank; `listener` is this rank's
  /// @param world a value that no other program knows, equal on all members
  /// @param key one that the members alone know, or none
  shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places, std::string world,
                 net::proof_key const& key = {});

  /// The ranks that are still members, by their original numbers.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return self_.members; }

  /// Finds the other survivors. Collective over them; the rendezvous numbers them from 0 in their original order.
  /// Ranks that are left out are not waited for again.
  ///
  /// Takes until the last member has joined: at most `patience`, plus as much for the first silent host and a quarter
  /// for each further one.
  /// @throws error(failure::join) if too many are silent, or the others continued without this rank; in the latter
  ///         case every later call fails, too
  [[nodiscard]] survivors meet(duration patience);

 private:
  [[noreturn]] void stay_out();
  channel visit(rank_type host, duration patience, std::vector<rank_type>& silent, std::vector<rank_type>& members);

  shrink_message self_;  ///< this rank and the current members
  descriptor listener_;
  std::vector<net::address> places_;
  net::proof_key key_;
  bool is_left_out_ = false;  ///< others continued without this rank, which stays out for ever
};

/// A listener for a shrink meeting, before the others are known.
class shrink_listener {
 public:
  /// @param host the address by which the others reach this host
  /// @throws error(failure::join) if it cannot listen there
  explicit shrink_listener(std::string const& host);

  /// The endpoint info that the others need of this member.
  [[nodiscard]] std::string endpoint_info() const;

  /// The meeting of the members with these endpoint infos, by rank.
  /// @param secret the world's, or none
  /// @throws error(failure::join) if this rank's is another text than it gave, or one has no address
  /// @pre called once
  [[nodiscard]] shrink_meeting meeting(rank_type rank, std::vector<std::string> const& endpoint_infos,
                                       world_secret const& secret = {});

 private:
  net::address address_;
  descriptor socket_;
  std::string nonce_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_meeting.ipp>
#endif
