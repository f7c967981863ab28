// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Proves that the hellos of a rank are of its world, and checks the hellos of its peers, by a key that the members of
/// the world share. Without a key there are no proofs, and all hellos pass.
///
/// A request has a number that no earlier request to the same peer had, so a hello that somebody has heard is worth
/// nothing a second time. Its answer repeats the number. The numbers count for each peer, and each try takes one: so a
/// request that others overtake stays within the peer's window, unless 64 are under way.
class hello_prover {
 public:
  hello_prover() noexcept = default;
  hello_prover(proof_key const& key, rank_type size) : key_(key), peers_(key ? size : 0U) {}

  /// True if there is a key.
  [[nodiscard]] bool has_key() const noexcept { return static_cast<bool>(key_); }

  /// Gives a request its number and its proof, before each try.
  TUTTI_DECL void prove_request(hello& request) noexcept;
  /// Returns why a request proves nothing, or null. @pre `request` has no other objection
  [[nodiscard]] TUTTI_DECL char const* objection_to_request(hello const& request) noexcept;
  /// Gives an answer the number of its request, and its proof.
  TUTTI_DECL void prove_answer(hello& answer, hello const& request) const noexcept;
  /// Returns why an answer to a request proves nothing, or null. @pre `answer` has no other objection
  [[nodiscard]] TUTTI_DECL char const* objection_to_answer(hello const& answer, hello const& request) const noexcept;

  /// Makes the key of the stream that an answer has begun.
  [[nodiscard]] TUTTI_DECL proof_key derive_stream_key(hello const& request, hello const& answer) const noexcept;

 private:
  struct peer_state {
    std::uint64_t last_number = 0;  ///< the number of the last request to the peer
    replay_window received_numbers;
  };

  proof_key key_;
  std::vector<peer_state> peers_;  ///< by rank; empty without a key
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/hello_prover.ipp>
#endif
