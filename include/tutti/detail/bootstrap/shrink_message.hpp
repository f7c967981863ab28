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

/// The hello of a member at a shrink meeting, and the decision of the host.
struct shrink_message {
  static constexpr std::uint64_t version = 1;
  static constexpr std::uint64_t limit = 1U << 22U;  ///< bytes; a longer message is refused unread

  std::string world;               ///< identifies the world
  rank_type rank = no_rank;        ///< the sender
  std::vector<rank_type> members;  ///< the members that the sender knows of, in ascending order

  [[nodiscard]] std::string text() const;
  /// An upper bound for the bytes of a text, and of the proof in a notice, in a world of `ranks` ranks.
  [[nodiscard]] std::size_t longest(std::size_t ranks) const;
  /// Returns false if `bytes` are no such message.
  [[nodiscard]] bool parse(std::string_view bytes);

  /// True if the rank is a member.
  [[nodiscard]] bool counts(rank_type member_rank) const noexcept;
  /// True if both messages are of one world, and this one does not count the sender of the other.
  [[nodiscard]] bool leaves_out(shrink_message const& other) const noexcept;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_message.ipp>
#endif
