// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// A topology of schedules that compute nothing and are only timed. A probe runs in one group of ranks; several
/// groups, such as the ranks of each host, run at once. The probe belongs to one rank, and has no steps if that rank
/// is in no group. A message is half of the vector, which has two blocks. As in real schedules, a message that is sent
/// has been received before, so that it is in no cache but the sender's.
class probe {
 public:
  enum class kind {
    shift,  ///< all send to the next rank and receive from the previous one, `reuses_copies` times
    swap,   ///< a shift whose received block overwrites the sent one
    loan,   ///< all lend the next rank a block and return the previous one's, `reuses_copies` times
    solo,   ///< every second rank lends the next one a block and gets it back, `reuses_copies` times
    relay,  ///< one message goes round the ring, `reuses_copies` times
    flood,  ///< every second rank sends the next one `reuses_copies` messages, then gets an answer
    train,  ///< every second rank sends the next one a vector of `reuses_copies` messages, each its own block
    trade,  ///< all send one block to the next rank and receive the other from the previous one
  };

  static constexpr std::string_view name = "probe";
  static constexpr bool keeps_rank_order = false;
  static constexpr bool sends_raw_contributions = false;

  probe(kind pattern, std::vector<rank_type> const& group, rank_type me, std::uint32_t repeats, action receive_action)
      : kind_(pattern),
        action_(receive_action),
        size_(static_cast<rank_type>(group.size())),
        blocks_(repeats),
        repeats_(repeats) {
    for (rank_type i = 0; i < size_; ++i) {
      if (group[i] == me) {
        place_ = i;
        next_ = group[(i + 1) % size_];
        previous_ = group[(i + size_ - 1) % size_];
      }
    }
    if (place_ == no_rank || size_ < 2 || (goes_one_way() && place_ % 2 == 0 && place_ + 1 == size_)) {
      repeats_ = 0;
    }
  }

  /// Identifies the measurement; groups never communicate with each other.
  [[nodiscard]] topology_settings settings(rank_type) const {
    topology_settings s{.identity =
                            (static_cast<std::uint32_t>(kind_) * 4 + static_cast<std::uint32_t>(action_)) * 16777619U ^
                            blocks_};
    s.set_label("probe");
    return s;
  }

  // Every operation is offered: transports may treat combining and moving ones differently.
  template <class Op>
  [[nodiscard]] std::uint32_t blocks(Op, rank_type) const {
    return kind_ == kind::train ? blocks_ : 2;
  }
  template <class Op>
  [[nodiscard]] std::uint32_t steps(Op, rank_type, rank_type) const {
    switch (kind_) {
      case kind::shift:
      case kind::swap:
      case kind::train:
        return repeats_;
      case kind::loan:
      case kind::solo:
      case kind::relay:
        return 2 * repeats_;
      case kind::trade:
        return repeats_ == 0 ? 0 : 1;
      case kind::flood:
        break;
    }
    return repeats_ == 0 ? 0 : repeats_ + 1;
  }
  template <class Op>
  [[nodiscard]] step at(Op, rank_type, rank_type, std::uint32_t i) const {
    switch (kind_) {
      case kind::shift:
        return sends_and_receives(true, true, i % 2, (i + 1) % 2);
      case kind::swap:
        return sends_and_receives(true, true, 0, 0);
      case kind::loan:
        return i % 2 == 0 ? lends(true, true) : gives_back(true, true);
      case kind::solo:
        return i % 2 == 0 ? lends(place_ % 2 == 0, place_ % 2 != 0) : gives_back(place_ % 2 != 0, place_ % 2 == 0);
      case kind::relay:
        return sends_and_receives((i % 2 == 0) == (place_ == 0), (i % 2 == 0) != (place_ == 0), 0, 0);
      case kind::trade:
        return sends_and_receives(true, true, 0, 1);
      case kind::train:
        return sends_and_receives(place_ % 2 == 0, place_ % 2 != 0, i, i);
      case kind::flood:
        break;
    }
    bool const last = i == repeats_;
    bool const sender = place_ % 2 == 0;
    step s = sends_and_receives(sender != last, sender == last, 0, 1);
    (s.sends() ? s.send.peer : s.receive.peer) = sender ? next_ : previous_;
    return s;
  }

 private:
  [[nodiscard]] bool goes_one_way() const {
    return kind_ == kind::flood || kind_ == kind::train || kind_ == kind::solo;
  }
  [[nodiscard]] step lends(bool sends, bool receives) const {
    step s = sends_and_receives(sends, receives, 0, 1);
    s.receive.memory = memory::output;
    s.loan = loan::lend;
    return s;
  }
  [[nodiscard]] step gives_back(bool sends, bool receives) const {
    return {.send = {sends ? previous_ : no_rank, memory::output, {1, 1}},
            .receive = {receives ? next_ : no_rank, memory::output, {0, 1}},
            .sender_memory = memory::output,
            .loan = loan::give_back};
  }
  [[nodiscard]] step sends_and_receives(bool sends, bool receives, std::uint32_t send_block,
                                        std::uint32_t receive_block) const {
    step s{.send = {no_rank, memory::work, {send_block, 1}},
           .receive = {no_rank, memory::work, {receive_block, 1}},
           .action = action_};
    s.send.peer = sends ? next_ : no_rank;
    s.receive.peer = receives ? previous_ : no_rank;
    return s;
  }

  kind kind_;
  action action_;
  rank_type size_;
  std::uint32_t blocks_;
  std::uint32_t repeats_;
  rank_type place_ = no_rank;
  rank_type next_ = no_rank;
  rank_type previous_ = no_rank;
};

}  // namespace tutti::detail::tuning
