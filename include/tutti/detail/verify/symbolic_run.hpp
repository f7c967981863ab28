// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/detail/verify/loans.hpp>
#include <tutti/extend/verdict.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::detail::verify {

/// Executes the schedules of all ranks symbolically, with unlimited buffers. The outcome does not depend on the order
/// in which the ranks run, because every receive names its sender.
///
/// One step of one rank: check it (`is_valid`), send, receive and fold or copy, or move blocks locally. A receive whose
/// message is not there yet suspends the rank until the sender wakes it. The first error ends the run.
///
/// If `in_place`, input, work and output are one memory, except in an alltoall, and receivers read the memory of the
/// sender. A write is then safe only if every reader of the overwritten blocks has finished. Vector clocks prove that:
/// the read must happen before the write through messages alone. A send that overlaps the receive of its own step is
/// left out: it cannot wait, so the engine sends a snapshot.
///
/// A rank neither reads nor writes blocks that it has lent, in any memory, until the peer gives them back (`loans`).
template <class Topology, class Op>
class symbolic_run {
 public:
  constexpr symbolic_run(Topology const& topology, Op const& op, rank_type n, bool in_place, verdict& result)
      : topology_(topology),
        op_(op),
        n_(n),
        members_(members(topology, op, n)),
        blocks_(topology.blocks(op, n)),
        in_place_(in_place),
        result_(result),
        cells_(std::size_t{members_} * blocks_ * (is_one_memory() ? 1 : 3)),
        ranks_(members_),
        awake_(members_) {
    std::size_t steps = 0;
    for (rank_type r = 0; r < members_; ++r) {
      state& me = ranks_.at[r];
      me.steps = topology.steps(op, n, r);
      steps += me.steps;
      if (me.steps != 0) {
        me.current = topology.at(op, n, r, 0);
        awake_.at[awake_count_++] = r;
      }
      if (in_place) {
        me.clock = table<time>(members_);
      }
      for (std::uint32_t b = 0; b < blocks_; ++b) {
        if (r >= n) {
          cell(r, memory::input, b) = reduces<Op> ? identity() : contents{};
        } else if (starts_with(op, r, b)) {
          cell(r, memory::input, b) = contribution(r, b);
        }
      }
    }
    messages_ = table<message>(steps);
  }

  constexpr void run() {
    if (blocks_ == 0 || (blocks_have_owners<Op> && blocks_ != n_)) {
      fail(result_.ends_match,
           "cuts the vector into no blocks, or not into one for each rank although blocks belong to ranks", 0);
    }
    while (is_good_ && awake_count_ != 0) {
      const rank_type r = awake_.at[--awake_count_];
      while (advance(r)) {
      }
    }
    for (rank_type r = 0; is_good_ && r < members_; ++r) {
      if (ranks_.at[r].at < ranks_.at[r].steps) {
        fail(result_.finishes, "waits for a message that is never sent", r);
      } else if (ranks_.at[r].inbox != nil) {
        fail(result_.ends_match, "is sent a message that it does not receive", r);
      } else if (ranks_.at[r].loans.is_lent({0, blocks_}, members_, blocks_)) {
        fail(result_.exact, "ends before a peer gives back the blocks that it has borrowed", r);
      }
    }
    for (std::uint32_t b = 0; is_good_ && b < blocks_; ++b) {
      check_results(b);
    }
  }

 private:
  using kind = contents::kind;
  using time = std::uint32_t;
  using index = std::uint32_t;
  static constexpr index nil = UINT32_MAX;
  static constexpr time not_yet = UINT32_MAX;

  struct message {
    rank_type sender = no_rank;
    endpoint source{};
    tutti::loan loan = tutti::loan::none;
    index next = nil;         // the next message in the inbox of the receiver
    index next_unread = nil;  // the next message in the sender's list `unread`
    time read = not_yet;      // the time of the receiver at which it read the message
    table<contents> data{};
    table<time> clock{};
  };

  struct state {
    step current{};
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool has_sent = false;
    bool waits = false;
    index inbox = nil;   // the oldest message that was sent to this rank and not received
    index newest = nil;  // the newest one
    index unread = nil;  // the messages of this rank that its receivers are not known to have read
    table<time> clock{};
    tutti::detail::verify::loans loans{};
  };

  /// True in operations whose blocks change places: block j of a rank's input is block i of another rank's output. They
  /// never run in place.
  static constexpr bool moves_blocks = std::same_as<Op, op::alltoall>;

  [[nodiscard]] constexpr bool is_one_memory() const { return in_place_ && !moves_blocks; }

  /// True if the engine can store blocks `source` as blocks `target`. It cuts both where they wrap.
  [[nodiscard]] constexpr bool match(block_range source, block_range target) const {
    return source == target || (moves_blocks && source.count == target.count &&
                                source.first + source.count <= blocks_ && target.first + target.count <= blocks_);
  }

  /// True if a write to the blocks of `target` changes blocks of `source`.
  [[nodiscard]] constexpr bool overlap(endpoint const& source, endpoint const& target) const {
    return (is_one_memory() || source.memory == target.memory) && source.blocks.overlaps(target.blocks, blocks_);
  }

  constexpr contents& cell(rank_type r, tutti::memory memory, std::uint32_t b) {
    return is_one_memory() ? cells_.at[std::size_t{r} * blocks_ + b]
                           : cells_.at[(std::size_t{r} * 3 + static_cast<std::size_t>(memory)) * blocks_ + b];
  }

  /// The type of the contents of a memory. Operations that do not reduce have elements in all memories.
  static constexpr kind holds(tutti::memory memory) {
    return !reduces<Op> || memory == memory::input ? kind::element
           : memory == memory::work                ? kind::accumulator
                                                   : kind::result;
  }

  constexpr void fail(bool& property, std::string_view reason, rank_type r) {
    if (is_good_) {
      is_good_ = false;
      property = false;
      result_.reason = reason;
      result_.rank = r;
      result_.step = ranks_.at[r].at;
    }
  }

  /// Executes the current step of a rank. True if the rank entered its next step.
  constexpr bool advance(rank_type r) {
    state& me = ranks_.at[r];
    const step s = me.current;
    bool const sends = s.send.peer != no_rank;
    bool const receives = s.receive.peer != no_rank;
    if (!me.has_sent) {
      if (!is_valid(r, s, sends, receives)) {
        return false;
      }
      if (sends) {
        send(r, s, receives);
      }
      me.has_sent = true;
    }
    if (receives) {
      me.waits = !receive(r, s);
      if (me.waits) {
        return false;
      }
    } else if (!sends) {
      move_locally(r, s);
    }
    me.has_sent = false;
    if (!is_good_ || ++me.at == me.steps) {
      return false;
    }
    me.current = topology_.at(op_, n_, r, me.at);
    return true;
  }

  constexpr bool is_valid(rank_type r, step const& s, bool sends, bool receives) {
    auto const is_outside = [this](block_range x) { return x.first >= blocks_ || x.count == 0 || x.count > blocks_; };
    if ((sends && (s.send.peer >= members_ || s.send.peer == r)) ||
        (receives && (s.receive.peer >= members_ || s.receive.peer == r))) {
      fail(result_.ends_match, "names a peer that does not exist", r);
    } else if (((sends || !receives) && is_outside(s.send.blocks)) ||
               ((receives || !sends) && is_outside(s.receive.blocks))) {
      fail(result_.ends_match, "names blocks that do not exist", r);
    } else if ((receives || !sends) && s.receive.memory == memory::input) {
      fail(result_.exact, "writes to its input", r);
    } else if (std::string_view const reason = reduces<Op> ? misplacement(s) : ""; !reason.empty()) {
      fail(result_.exact, reason, r);
    } else if (s.loan != loan::none && !(sends && reduces<Op>)) {
      fail(result_.exact, "lends or gives back blocks that it does not send, or in an operation that does not reduce",
           r);
    } else if ((sends || !receives) && ranks_.at[r].loans.is_lent(s.send.blocks, members_, blocks_)) {
      fail(result_.exact, "reads blocks that it has lent to a peer", r);
    }
    return is_good_;
  }

  constexpr void note(std::string_view error, rank_type r) {
    if (!error.empty()) {
      fail(result_.exact, error, r);
    }
  }

  constexpr contents& read(rank_type r, tutti::memory memory, std::uint32_t b) {
    contents& c = cell(r, memory, b);
    if (c.type != holds(memory)) {
      fail(result_.exact,
           memory == memory::input  ? "reads input that it does not have (any more)"
           : memory == memory::work ? "reads work that it does not have"
                                    : "reads output that it does not have yet",
           r);
    }
    return c;
  }

  constexpr void send(rank_type r, step const& s, bool receives) {
    state& me = ranks_.at[r];
    const index id = message_count_++;
    message& m = messages_.at[id];
    m.sender = r;
    m.source = s.send;
    m.loan = s.loan;
    if (s.loan != loan::none) {
      note(me.loans.send(s, members_), r);
    }
    m.data = table<contents>(s.send.blocks.count);
    std::uint32_t b = s.send.blocks.first;
    for (std::uint32_t k = 0; k < s.send.blocks.count; ++k) {
      contents& c = read(r, s.send.memory, b);
      c.is_sent = true;
      m.data.at[k] = c;
      b = b + 1 == blocks_ ? 0 : b + 1;
    }
    if (in_place_) {
      ++me.clock.at[r];
      m.clock = table<time>(members_);
      for (rank_type other = 0; other < members_; ++other) {
        m.clock.at[other] = me.clock.at[other];
      }
      if (receives && overlap(s.send, s.receive)) {
        result_.self_overlap = true;
      } else {
        m.next_unread = me.unread;
        me.unread = id;
      }
    }
    state& peer = ranks_.at[s.send.peer];
    (peer.inbox == nil ? peer.inbox : messages_.at[peer.newest].next) = id;
    peer.newest = id;
    if (peer.waits && peer.current.receive.peer == r) {
      peer.waits = false;
      awake_.at[awake_count_++] = s.send.peer;
    }
  }

  /// Removes the oldest message from `peer` from the inbox, and returns it or nil.
  constexpr index take(state& me, rank_type peer) {
    index previous = nil;
    index id = me.inbox;
    while (id != nil && messages_.at[id].sender != peer) {
      previous = id;
      id = messages_.at[id].next;
    }
    if (id != nil) {
      (previous == nil ? me.inbox : messages_.at[previous].next) = messages_.at[id].next;
      me.newest = me.newest == id ? previous : me.newest;
    }
    return id;
  }

  constexpr bool receive(rank_type r, step const& s) {
    state& me = ranks_.at[r];
    const index id = take(me, s.receive.peer);
    if (id == nil) {
      return false;
    }
    message& m = messages_.at[id];
    if (!match(m.source.blocks, s.receive.blocks)) {
      fail(result_.ends_match, "receives other blocks than were sent", r);
    } else if (m.source.memory != s.sender_memory) {
      fail(result_.ends_match, "names another memory than the message is sent from", r);
    }
    note(me.loans.receive(s, m.loan, members_), r);
    if (me.loans.is_lent(s.receive.blocks, members_, blocks_)) {
      fail(result_.exact, "writes blocks that it has lent to a peer", r);
    }
    if (in_place_) {
      for (rank_type other = 0; other < members_; ++other) {
        if (me.clock.at[other] < m.clock.at[other]) {
          me.clock.at[other] = m.clock.at[other];
        }
      }
      check_overtaking(me, s.receive);
      m.read = ++me.clock.at[r];
      m.clock = {};
    }
    std::uint32_t b = s.receive.blocks.first;
    for (std::uint32_t k = 0; is_good_ && k < s.receive.blocks.count; ++k) {
      if (s.action == action::copy) {
        store(r, s.receive.memory, b, s.sender_memory, m.data.at[k]);
      } else {
        fold(r, s, b, m.data.at[k]);
      }
      b = b + 1 == blocks_ ? 0 : b + 1;
    }
    m.data = {};
    return true;
  }

  /// Notes if a write to these blocks could overtake a read. Forgets the messages that are known to have been read.
  constexpr void check_overtaking(state& me, endpoint const& target) {
    index* link = &me.unread;
    while (*link != nil) {
      message& m = messages_.at[*link];
      if (me.clock.at[m.source.peer] >= m.read) {
        *link = m.next_unread;
        continue;
      }
      result_.has_no_write_after_read = result_.has_no_write_after_read && !overlap(m.source, target);
      link = &m.next_unread;
    }
  }

  constexpr void fold(rank_type r, step const& s, std::uint32_t b, contents const& arriving) {
    if constexpr (!reduces<Op>) {
      fail(result_.exact, "combines what is not to be combined", r);
      return;
    }
    contents const& local = read(r, s.local_memory, b);
    result_.raw = result_.raw && s.sender_memory == memory::input;
    contents const& target = cell(r, s.receive.memory, b);
    if (s.local_memory == memory::input && target.type == kind::accumulator && !target.is_sent) {
      fail(result_.exact, "overwrites an accumulator that has not been sent", r);
    }
    store(r, s.receive.memory, b, memory::work,
          s.action == action::fold_left ? combine(arriving, local) : combine(local, arriving));
  }

  constexpr void move_locally(rank_type r, step const& s) {
    if (!match(s.send.blocks, s.receive.blocks)) {
      fail(result_.ends_match, "moves blocks to others that do not match", r);
      return;
    }
    if (in_place_ && (reduces<Op> || moves_blocks)) {
      check_overtaking(ranks_.at[r], s.receive);
    }
    bool const lifts = reduces<Op> && s.send.memory == memory::input && s.receive.memory == memory::output;
    for (std::uint32_t k = 0; is_good_ && k < s.send.blocks.count; ++k) {
      store(r, s.receive.memory, (s.receive.blocks.first + k) % blocks_, lifts ? memory::work : s.send.memory,
            read(r, s.send.memory, (s.send.blocks.first + k) % blocks_));
    }
  }

  /// Stores contents that come from memory `source` in memory `target`. Accumulators become results in `output`.
  constexpr void store(rank_type r, memory target, std::uint32_t b, memory source, contents const& c) {
    if (target == memory::output && (r >= n_ || !ends_with(op_, r, b))) {
      fail(result_.exact, "writes a block of output that it has no room for", r);
    }
    if constexpr (reduces<Op>) {
      bool const finishes = target == memory::output && source == memory::work;
      if (rank_type const total = contributions<Op>(n_, r); finishes && c.count != total) {
        fail(result_.exact,
             c.count < total ? "finishes before all contributions are in" : "finishes with too many contributions", r);
      }
    }
    contents& block = cell(r, target, b);
    block = c;
    block.type = holds(target);
    block.is_sent = false;
  }

  constexpr void check_results(std::uint32_t b) {
    contents correct{};
    for (rank_type r = 0; r < n_; ++r) {
      if (!ends_with(op_, r, b)) {
        continue;
      }
      if (!reduces<Op> || correct.count != contributions<Op>(n_, r)) {
        correct = correct_result(op_, n_, r, b);
      }
      contents const& actual = cell(r, memory::output, b);
      if (actual.type != correct.type || actual.count != correct.count || actual.print != correct.print) {
        fail(result_.exact, "ends without its result", r);
      }
      result_.keeps_rank_order = result_.keeps_rank_order && actual.is_in_rank_order;
    }
  }

  Topology const& topology_;
  Op op_;
  rank_type n_;
  rank_type members_;  ///< ranks and aggregators
  std::uint32_t blocks_;
  bool in_place_;
  bool is_good_ = true;
  verdict& result_;
  table<contents> cells_;
  table<state> ranks_;
  table<rank_type> awake_;
  std::size_t awake_count_ = 0;
  table<message> messages_{};
  index message_count_ = 0;
};

}  // namespace tutti::detail::verify
