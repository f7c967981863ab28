// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The calls of a failure_detector that take rounds of agreement.
enum class detector_call : std::uint8_t { agree, shrink, grow };

[[nodiscard]] constexpr char const* name_of(detector_call call) noexcept {
  return call == detector_call::agree ? "agree" : call == detector_call::shrink ? "shrink" : "grow";
}

/// The number of a proposal. Every attempt of a host has a number of its own, larger than all that it has heard of.
struct ballot {
  std::uint64_t count = 0;  ///< 0: none
  rank_type host = 0;

  [[nodiscard]] friend bool operator<(ballot const& a, ballot const& b) noexcept {
    return a.count != b.count ? a.count < b.count : a.host < b.host;
  }
  [[nodiscard]] friend bool operator==(ballot const& a, ballot const& b) noexcept = default;
};

/// A result of a round: what a host proposes, and in the end what all members have decided.
struct proposal {
  std::uint64_t round = 0;  ///< 0: the state before the first round
  ballot number;            ///< no ballot: nothing is proposed
  detector_call call = detector_call::agree;
  std::uint64_t value = 0;
  std::vector<rank_type> members;  ///< the ranks that are not lost, in ascending order

  /// True if the rank is a member.
  [[nodiscard]] bool counts(rank_type rank) const noexcept;
  [[nodiscard]] friend bool operator==(proposal const& a, proposal const& b) noexcept = default;
};

/// A message between members of a world in a round of agreement.
struct shrink_message {
  static constexpr std::uint64_t version = 2;
  static constexpr std::uint64_t limit = 1U << 22U;  ///< bytes; a longer message is refused unread

  enum class step : std::uint8_t {
    hello,     ///< a guest comes; `content` is the result of the round before
    query,     ///< the host asks for what has been proposed
    promise,   ///< a guest follows no lower number from now on; `content` is the last proposal that it has accepted
    proposal,  ///< the host proposes `content`
    accept,    ///< a guest has accepted it
    verdict,   ///< `content` is decided
    notice,    ///< the members of `content` have left the receiver out
  };

  std::string world;         ///< identifies the world
  rank_type rank = no_rank;  ///< the sender
  step kind = step::hello;
  std::uint64_t round = 0;
  ballot number = {};  ///< the host's; in a hello the highest that the guest follows
  detector_call call = detector_call::agree;
  std::uint64_t value = 0;  ///< in a hello, the contribution
  proposal content = {};

  [[nodiscard]] std::string text() const;
  /// An upper bound for the bytes of a text, and of the proof in a notice, in a world of `ranks` ranks.
  [[nodiscard]] std::size_t longest(std::size_t ranks) const;
  /// Returns false if `bytes` are no such message.
  [[nodiscard]] bool parse(std::string_view bytes);
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_message.ipp>
#endif
