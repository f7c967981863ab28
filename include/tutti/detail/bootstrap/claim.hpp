// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

// Two members with one key prove to each other that they know it, before either says anything else:
//
//     guest                                         host
//       | claim: nonce 32, rank 8, world 16, proof 32 |
//       |-------------------------------------------->|   a wrong or repeated one is not answered
//       |               challenge: nonce 32, proof 32 |
//       |<--------------------------------------------|
//       | hello, and all further frames, sealed       |
//
// The nonces are random. The proof of the challenge covers both, so only a host that knows the key answers; the sealed
// hello shows that the guest is not a repetition of an earlier one. The keys of the frames are made of both nonces and
// the rank. The mark of the world tells a host which claims are of its own world, and tells a listener nothing.

inline constexpr std::size_t nonce_size = 32;
inline constexpr std::size_t rank_size = 8;
inline constexpr std::size_t mark_size = sizeof(net::proof) / 2;
inline constexpr std::uint64_t claim_size = nonce_size + rank_size + mark_size + sizeof(net::proof);
inline constexpr std::uint64_t challenge_size = nonce_size + sizeof(net::proof);

/// A claim that proves the key.
struct proved_claim {
  std::string nonce;
  rank_type rank = no_rank;
  std::string mark;  ///< mark of the guest's world
};

/// The mark of a world.
/// @param world a text that differs between worlds with one key
/// @pre there is a key
[[nodiscard]] TUTTI_DECL std::string mark_of(net::proof_key const& key, std::string_view world);

/// Claims to be `rank` of a world, and seals the channel. `hangup` if the other side does not prove that it knows the
/// key.
/// @pre there is a key
[[nodiscard]] TUTTI_DECL io claim_rank(channel& line, net::proof_key const& key, rank_type rank, time_point deadline,
                                       std::string_view world = {});

/// Reads a claim. Returns nothing if it does not prove that the guest knows the key.
/// @pre there is a key
[[nodiscard]] TUTTI_DECL std::optional<proved_claim> read_claim(net::proof_key const& key, std::string_view payload);

/// Answers a claim, and seals the channel.
/// @pre there is a key
TUTTI_DECL void answer_claim(channel& line, net::proof_key const& key, proved_claim const& claim);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/claim.ipp>
#endif
