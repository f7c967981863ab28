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
///     sender of a request                       receiver
///          |------ request: its number, proof ------>|
///          |<----- answer: a number, proof ----------|   the proof covers both hellos
///          |------ confirmation ------------------->|    if the answer is a welcome: the connection is the sender's
///
/// A hello that a listener on the path has heard arrives a second time, or the first time from the listener: it gets an
/// answer, and nothing else. Only the sender, which has the key, can confirm the answer, and it confirms one. Each
/// answer has a number of its own, so no confirmation fits two.
///
/// The numbers of requests count for each peer, and each try takes one. A request to connect is answered three times at
/// most, and not any more once its sender has made a later one. Other requests ask for nothing, and count once: one
/// that others overtake stays within the peer's window, unless 64 are under way.
class hello_prover {
 public:
  hello_prover() noexcept = default;
  hello_prover(proof_key const& key, rank_type size) : key_(key), peers_(key ? size : 0U) {}

  /// True if there is a key.
  [[nodiscard]] bool has_key() const noexcept { return static_cast<bool>(key_); }

  /// Gives a request its number and its proof, before each try.
  TUTTI_DECL void prove_request(hello& request) noexcept;
  /// Returns why a request proves nothing, or null if it may be answered. @pre `request` has no other objection
  [[nodiscard]] TUTTI_DECL char const* objection_to_request(hello const& request) noexcept;
  /// Gives an answer its number and its proof.
  TUTTI_DECL void prove_answer(hello& answer, hello const& request) noexcept;
  /// Returns why an answer to a request proves nothing, or null. @pre `answer` has no other objection
  [[nodiscard]] TUTTI_DECL char const* objection_to_answer(hello const& answer, hello const& request) const noexcept;

  /// Proves that the sender of a request has this answer. @pre there is a key
  [[nodiscard]] TUTTI_DECL proof confirm(hello const& request, hello const& answer) const noexcept;
  /// True if the sender of a request has confirmed this answer; the request is then not answered again.
  /// @pre there is a key
  [[nodiscard]] TUTTI_DECL bool accepts(proof const& confirmation, hello const& request, hello const& answer) noexcept;

  /// Makes the key of the stream that an answer has begun.
  [[nodiscard]] TUTTI_DECL proof_key derive_stream_key(hello const& request, hello const& answer) const noexcept;

 private:
  /// The original of a request, and two copies that come before it. A sender whose request is refused tries again.
  static constexpr int max_answers = 3;

  struct peer_state {
    std::uint64_t last_number = 0;      ///< the number of the last request to the peer
    std::uint64_t answered_number = 0;  ///< the number of the peer's latest request to connect
    int answers = 0;                    ///< the answers to that request
    replay_window received_numbers;     ///< numbers of the peer's other requests
  };

  proof_key key_;
  std::vector<peer_state> peers_;  ///< by rank; empty without a key
  std::uint64_t last_answer_ = 0;  ///< the number of the last answer to any peer
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/hello_prover.ipp>
#endif
