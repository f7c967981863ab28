// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/agreement.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

// A notice is a message at a member's listener, which says that a group has left this member out. The member's system
// keeps the notice even while the member is stopped and after the group has ended. So a member that finds the others
// gone and no notice has not been left out. A system that cannot be reached keeps none.
//
// In a world with a secret a notice ends with a proof, as the member may read it when all others are gone. A repetition
// of a notice is harmless: what it says stays true.

/// The longest time that a group takes to leave its notices. Guests wait this much longer for its decision.
inline constexpr duration longest_notices = std::chrono::seconds(3);

/// Leaves a notice with each of these members. Returns when their systems have acknowledged it, or after
/// `longest_notices`.
/// @param key the world's for its shrink meetings, or none
TUTTI_DECL void leave_notices(shrink_message const& notice, std::vector<rank_type> const& left_out,
                              std::vector<net::address> const& places, net::proof_key const& key = {});

/// The notice in a frame, if it has one that a member of the world has left.
/// @param key the world's for its shrink meetings, or none
[[nodiscard]] TUTTI_DECL std::optional<shrink_message> notice_in(bootstrap_frame const& frame,
                                                                 net::proof_key const& key);

/// Reads the notices that wait at this member's listener. Closes all connections that wait there: guests try again.
/// @param longest_hello bytes; a longer hello is not read
/// @throws error(failure::join) if no descriptor is left for it
TUTTI_DECL void take_notices(int listener, agreement& me, std::size_t longest_hello, net::proof_key const& key = {});

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_notice.ipp>
#endif
