// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/agreement.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// One member's connections to the others in the agreements of a world, by which its survivors find each other. The
/// member has a listener from the beginning, and the addresses of all others' listeners. A listener closes when its
/// owner ends, in whatever way, so the system itself tells who is gone. Ranks are those of the original world. Used by
/// one thread at a time.
///
/// In each round the lowest surviving rank is the host. Each member tries the listeners of lower ranks in ascending
/// order and considers a rank gone if its listener refuses. If a host ends, its guests try the next listener. The host
/// waits for all members that are not gone, and decides with them (`agreement`).
///
/// Law: no two groups continue from one world. A member that neither comes nor is known to be gone is silent: it may
/// be cut off and have continued elsewhere. Before a group decides, it leaves a notice at the listener of each silent
/// member. If such a member wakes after the group has ended, it finds all listeners closed, and the notice. So the law
/// holds unless the system of a silent member cannot be reached when the group decides.
class shrink_meeting {
 public:
  /// @param places the address of every member's listener, by rank; `listener` is this rank's
  /// @param world a value that no other program knows, equal on all members
  /// @param key one that the members alone know, or none
  shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places, std::string world,
                 net::proof_key const& key = {});

  /// The ranks that are still members, by their original numbers.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return agreement_.members(); }

  /// Decides the next round. Collective over the survivors. Returns the bitwise AND of the contributions, and decides
  /// `members`: both are the same on all survivors, also if they end afterwards. Ranks that are left out are not
  /// waited for again.
  ///
  /// Takes until the last member has come: at most `patience`, plus as much for the first silent host and a quarter
  /// for each further one, and as much again for a member that falls silent meanwhile.
  /// @throws error(failure::join) if too many are silent, or the others continued without this rank; in the latter
  ///         case every later call fails, too. error(failure::mismatch) if the members make different calls
  std::uint64_t agree(detector_call call, std::uint64_t contribution, duration patience);

  /// Takes part in no further round: every later call fails.
  void leave() noexcept { agreement_.stay_out(); }

  /// The rendezvous of the members, which numbers them from 0 in their original order.
  /// @throws error(failure::join) if one of them did not take part in the last round: its host has ended meanwhile
  /// @pre the last round was of `shrink` or `grow`; called once for each round
  [[nodiscard]] survivors take_survivors(duration patience);

 private:
  /// The end of a visit.
  enum class visit_end { verdict, silent, absent };

  [[nodiscard]] visit_end visit(rank_type host, duration patience, duration share);
  void look_for_notices();
  [[noreturn]] void fail_left_out();

  agreement agreement_;
  descriptor listener_;
  std::vector<net::address> places_;
  net::proof_key key_;
  rank_type host_ = no_rank;    ///< the host of the last round
  std::vector<channel> lines_;  ///< connections of the last round: the host's to its guests, a guest's to the host
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

/// Makes the shrink meeting of the members of a rendezvous. Collective over them.
/// @param host the address by which the others reach this host
/// @throws error(failure::join)
template <class Meet>
[[nodiscard]] shrink_meeting meet(Meet& members, std::string const& host, world_secret const& secret) {
  shrink_listener listener(host);
  return listener.meeting(members.rank(), members.exchange(listener.endpoint_info()), secret);
}

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_meeting.ipp>
#endif
