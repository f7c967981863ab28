// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/extend/topology.hpp>

#include <string_view>

namespace tutti::inline v0_1_0::detail::verify {

/// The loans of one rank while a schedule is executed: the blocks that it has lent to each peer, and has borrowed from
/// each. `send` and `receive` return the reason why a step breaks the rules, or "".
///
///     lender                    borrower
///     send, loan::lend    -->   receive: reads and writes the lender's blocks
///                               folds; finishes into `output`
///     receive: is free    <--   send from `output`, loan::give_back
class loans {
 public:
  /// True if any of these blocks is lent to a peer. `block_count` is the number of blocks of the vector.
  [[nodiscard]] constexpr bool is_lent(block_range blocks, rank_type n, std::uint32_t block_count) const {
    bool overlap = false;
    for (rank_type peer = 0; lendings_.at != nullptr && peer < n; ++peer) {
      overlap = overlap || (lendings_.at[peer].count != 0 && lendings_.at[peer].overlaps(blocks, block_count));
    }
    return overlap;
  }

  /// Records the loan of the message that a step sends. @pre it lends or gives back
  [[nodiscard]] constexpr std::string_view send(step const& s, rank_type n) {
    open(n);
    if (s.loan == loan::lend) {
      bool const is_wrong = lendings_.at[s.send.peer].count != 0 || s.send.memory == memory::output;
      lendings_.at[s.send.peer] = s.send.blocks;
      return is_wrong ? "lends to a peer twice, or lends finished blocks" : "";
    }
    bool const is_wrong = borrowings_.at[s.send.peer] != s.send.blocks || s.send.memory != memory::output;
    borrowings_.at[s.send.peer] = {};
    return is_wrong ? "gives back blocks that it has not borrowed, or has not finished" : "";
  }

  /// Records the loan of the message that a step receives. Blocks that are given back may be used again.
  [[nodiscard]] constexpr std::string_view receive(step const& s, loan terms, rank_type n) {
    if (terms == loan::none) {
      return "";
    }
    open(n);
    if (terms == loan::lend) {
      borrowings_.at[s.receive.peer] = s.receive.blocks;
      return "";
    }
    bool const is_wrong = s.action != action::copy || s.receive.memory != memory::output ||
                          lendings_.at[s.receive.peer] != s.receive.blocks;
    lendings_.at[s.receive.peer] = {};
    return is_wrong ? "gets back blocks that it has not lent, or stores them outside its output" : "";
  }

 private:
  constexpr void open(rank_type n) {
    if (lendings_.at == nullptr) {
      lendings_ = table<block_range>(n);
      borrowings_ = table<block_range>(n);
    }
  }

  table<block_range> lendings_{};    ///< the blocks that each peer has borrowed from this rank
  table<block_range> borrowings_{};  ///< the blocks that this rank has borrowed from each peer
};

}  // namespace tutti::detail::verify
