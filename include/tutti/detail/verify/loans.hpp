// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/extend/topology.hpp>

#include <string_view>

namespace tutti::inline v0_1_0::detail::verify {

/// Which blocks one rank has lent to others, and holds for others, while a schedule is executed. What
/// a step must not do with them comes as a reason, which is empty if all is well.
class loans {
 public:
  /// Whether any of the blocks is lent to a peer.
  [[nodiscard]] constexpr bool lent(block_range blocks, rank_type n, std::uint32_t of) const {
    bool any = false;
    for (rank_type peer = 0; to_.at != nullptr && peer < n; ++peer) {
      any = any || (to_.at[peer].count != 0 && to_.at[peer].overlaps(blocks, of));
    }
    return any;
  }

  /// Books what the step sends. @pre it lends or gives back
  [[nodiscard]] constexpr std::string_view send(step const& s, rank_type n) {
    open(n);
    if (s.loan == loan::lent) {
      bool const wrong = to_.at[s.send.peer].count != 0 || s.send.memory == memory::output;
      to_.at[s.send.peer] = s.send.blocks;
      return wrong ? "lends twice, or what is finished" : "";
    }
    bool const wrong = from_.at[s.send.peer] != s.send.blocks || s.send.memory != memory::output;
    from_.at[s.send.peer] = {};
    return wrong ? "gives back what it was not lent, or has not finished" : "";
  }

  /// Books what the step receives of a message that was sent so. What is given back is free again.
  [[nodiscard]] constexpr std::string_view receive(step const& s, loan how, rank_type n) {
    if (how == loan::none) {
      return "";
    }
    open(n);
    if (how == loan::lent) {
      from_.at[s.receive.peer] = s.receive.blocks;
      return "";
    }
    bool const wrong =
        s.how != action::copy || s.receive.memory != memory::output || to_.at[s.receive.peer] != s.receive.blocks;
    to_.at[s.receive.peer] = {};
    return wrong ? "gets back what it has not lent, or puts it elsewhere" : "";
  }

 private:
  constexpr void open(rank_type n) {
    if (to_.at == nullptr) {
      to_ = table<block_range>(n);
      from_ = table<block_range>(n);
    }
  }

  table<block_range> to_{};    ///< what each peer has of this rank
  table<block_range> from_{};  ///< what this rank has of each peer
};

}  // namespace tutti::detail::verify
