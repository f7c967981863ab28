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

/// What a member says when it comes to a shrink meeting, and what the host says when it has decided.
struct shrink_message {
  static constexpr std::uint64_t version = 1;
  static constexpr std::uint64_t limit = 1U << 22U;  ///< bytes; longer ones are refused before they are read

  std::string world;               ///< which
  rank_type rank = no_rank;        ///< whose message it is
  std::vector<rank_type> members;  ///< which are in, as far as that one knows

  [[nodiscard]] std::string text() const;
  /// Bytes that the text of none is longer than, in a world of so many ranks.
  [[nodiscard]] std::size_t longest(std::size_t ranks) const;
  /// False: `bytes` are something else.
  [[nodiscard]] bool parse(std::string_view bytes);

  /// Whether a rank is among the members.
  [[nodiscard]] bool counts(rank_type one) const noexcept;
  /// True if this message is of the same world as the other one, and does not count the sender of that.
  [[nodiscard]] bool leaves_out(shrink_message const& other) const noexcept;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_message.ipp>
#endif
