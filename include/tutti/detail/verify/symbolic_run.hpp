// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/detail/verify/loans.hpp>
#include <tutti/extend/verdict.hpp>

namespace tutti::inline v0_1_0::detail::verify {

/// Executes all ranks' schedules with unbounded buffers. The outcome does not depend on the order in
/// which the ranks run, because every receive names its sender.
///
/// If `in_place`, input, work and output are one memory, and receivers read in the sender's memory.
/// Write-after-read: a write is safe if the reader of what it overwrites is known to be done - if the
/// read happened before the write through messages alone, which vector clocks tell. Sends that overlap
/// their own step's receive are left out: they cannot wait, so the engine sends a snapshot of them.
///
/// Loans: what a rank has lent to a peer it neither reads nor writes, in any memory, until that
/// peer gives back the same blocks.
template <class Topology, class Op>
class symbolic_run {
 public:
  constexpr symbolic_run(Topology const& topology, Op const& op, rank_type n, bool in_place, verdict& found)
      : topology_(topology),
        op_(op),
        n_(n),
        members_(members(topology, op, n)),
        blocks_(topology.blocks(op, n)),
        in_place_(in_place),
        found_(found),
        cells_(std::size_t{members_} * blocks_ * (in_place ? 1 : 3)),
        ranks_(members_),
        awake_(members_) {
    std::size_t steps = 0;
    for (rank_type r = 0; r < members_; ++r) {
      state& me = ranks_.at[r];
      me.steps = topology.steps(op, n, r);
      steps += me.steps;
      if (me.steps != 0) {
        me.now = topology.at(op, n, r, 0);
        awake_.at[awake_count_++] = r;
      }
      if (in_place) {
        me.clock = table<time>(members_);
      }
      for (std::uint32_t b = 0; b < blocks_; ++b) {
        if (r >= n) {
          cell(r, memory::input, b) = reduces<Op> ? identity() : contents{};
        } else if (given(op, r, b)) {
          cell(r, memory::input, b) = contribution(r, b);
        }
      }
    }
    messages_ = table<message>(steps);
  }

  constexpr void run() {
    if (blocks_ == 0 || (blocks_have_owners<Op> && blocks_ != n_)) {
      fail(found_.matched, "cuts the vector into no blocks, or not into one for each rank where blocks belong to ranks",
           0);
    }
    while (good_ && awake_count_ != 0) {
      const rank_type r = awake_.at[--awake_count_];
      while (advance(r)) {
      }
    }
    for (rank_type r = 0; good_ && r < members_; ++r) {
      if (ranks_.at[r].at < ranks_.at[r].steps) {
        fail(found_.finishes, "waits for a message that is never sent", r);
      } else if (ranks_.at[r].inbox != none) {
        fail(found_.matched, "is sent a message that it does not receive", r);
      } else if (ranks_.at[r].loans.lent({0, blocks_}, members_, blocks_)) {
        fail(found_.exact, "ends without what it has lent to a peer", r);
      }
    }
    for (std::uint32_t b = 0; good_ && b < blocks_; ++b) {
      check_results(b);
    }
  }

 private:
  using kind = contents::kind;
  using time = std::uint32_t;
  using index = std::uint32_t;
  static constexpr index none = UINT32_MAX;
  static constexpr time not_yet = UINT32_MAX;

  struct message {
    rank_type from = no_rank;
    endpoint sent{};
    tutti::loan loan = tutti::loan::none;
    index next = none;       // in the receiver's inbox
    index next_open = none;  // among the sender's reads
    time read = not_yet;     // when the receiver read it, in its own time
    table<contents> data{};
    table<time> clock{};
  };

  struct state {
    step now{};
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool sent = false;
    bool waits = false;
    index inbox = none;  // the oldest message
    index newest = none;
    index open = none;  // messages that were sent from this memory and are not known to have been read
    table<time> clock{};
    tutti::detail::verify::loans loans{};
  };

  constexpr contents& cell(rank_type r, tutti::memory memory, std::uint32_t b) {
    return in_place_ ? cells_.at[std::size_t{r} * blocks_ + b]
                     : cells_.at[(std::size_t{r} * 3 + static_cast<std::size_t>(memory)) * blocks_ + b];
  }

  /// What a memory holds: operations that only move elements have elements everywhere.
  static constexpr kind holds(tutti::memory memory) {
    return !reduces<Op> || memory == memory::input ? kind::element
           : memory == memory::work                ? kind::accumulator
                                                   : kind::result;
  }

  constexpr void fail(bool& property, std::string_view reason, rank_type r) {
    if (good_) {
      good_ = false;
      property = false;
      found_.reason = reason;
      found_.rank = r;
      found_.step = ranks_.at[r].at;
    }
  }

  /// Does the rank's step; true if it went on to the next one.
  constexpr bool advance(rank_type r) {
    state& me = ranks_.at[r];
    const step s = me.now;
    bool const sends = s.send.peer != no_rank;
    bool const receives = s.receive.peer != no_rank;
    if (!me.sent) {
      if (!valid(r, s, sends, receives)) {
        return false;
      }
      if (sends) {
        send(r, s, receives);
      }
      me.sent = true;
    }
    if (receives) {
      me.waits = !receive(r, s);
      if (me.waits) {
        return false;
      }
    } else if (!sends) {
      move_locally(r, s);
    }
    me.sent = false;
    if (!good_ || ++me.at == me.steps) {
      return false;
    }
    me.now = topology_.at(op_, n_, r, me.at);
    return true;
  }

  constexpr bool valid(rank_type r, step const& s, bool sends, bool receives) {
    auto const outside = [this](block_range x) { return x.first >= blocks_ || x.count == 0 || x.count > blocks_; };
    if ((sends && (s.send.peer >= members_ || s.send.peer == r)) ||
        (receives && (s.receive.peer >= members_ || s.receive.peer == r))) {
      fail(found_.matched, "names a peer that does not exist", r);
    } else if (((sends || !receives) && outside(s.send.blocks)) ||
               ((receives || !sends) && outside(s.receive.blocks))) {
      fail(found_.matched, "names blocks that do not exist", r);
    } else if ((receives || !sends) && s.receive.memory == memory::input) {
      fail(found_.exact, "writes to its input", r);
    } else if (std::string_view const wrong = reduces<Op> ? misplacement(s) : ""; !wrong.empty()) {
      fail(found_.exact, wrong, r);
    } else if (s.loan != loan::none && !(sends && reduces<Op>)) {
      fail(found_.exact, "lends or gives back what it does not send", r);
    } else if ((sends || !receives) && ranks_.at[r].loans.lent(s.send.blocks, members_, blocks_)) {
      fail(found_.exact, "reads what it has lent to a peer", r);
    }
    return good_;
  }

  constexpr void book(std::string_view complaint, rank_type r) {
    if (!complaint.empty()) {
      fail(found_.exact, complaint, r);
    }
  }

  constexpr contents& read(rank_type r, tutti::memory memory, std::uint32_t b) {
    contents& c = cell(r, memory, b);
    if (c.what != holds(memory)) {
      fail(found_.exact,
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
    m.from = r;
    m.sent = s.send;
    m.loan = s.loan;
    if (s.loan != loan::none) {
      book(me.loans.send(s, members_), r);
    }
    m.data = table<contents>(s.send.blocks.count);
    std::uint32_t b = s.send.blocks.first;
    for (std::uint32_t k = 0; k < s.send.blocks.count; ++k) {
      contents& c = read(r, s.send.memory, b);
      c.passed = true;
      m.data.at[k] = c;
      b = b + 1 == blocks_ ? 0 : b + 1;
    }
    if (in_place_) {
      ++me.clock.at[r];
      m.clock = table<time>(members_);
      for (rank_type other = 0; other < members_; ++other) {
        m.clock.at[other] = me.clock.at[other];
      }
      if (receives && s.send.blocks.overlaps(s.receive.blocks, blocks_)) {
        found_.self_overlap = true;
      } else {
        m.next_open = me.open;
        me.open = id;
      }
    }
    state& peer = ranks_.at[s.send.peer];
    (peer.inbox == none ? peer.inbox : messages_.at[peer.newest].next) = id;
    peer.newest = id;
    if (peer.waits && peer.now.receive.peer == r) {
      peer.waits = false;
      awake_.at[awake_count_++] = s.send.peer;
    }
  }

  /// Takes the oldest message from `peer` out of the inbox.
  constexpr index take(state& me, rank_type peer) {
    index before = none;
    index id = me.inbox;
    while (id != none && messages_.at[id].from != peer) {
      before = id;
      id = messages_.at[id].next;
    }
    if (id != none) {
      (before == none ? me.inbox : messages_.at[before].next) = messages_.at[id].next;
      me.newest = me.newest == id ? before : me.newest;
    }
    return id;
  }

  constexpr bool receive(rank_type r, step const& s) {
    state& me = ranks_.at[r];
    const index id = take(me, s.receive.peer);
    if (id == none) {
      return false;
    }
    message& m = messages_.at[id];
    // Block j of the input is block i of the output, only in alltoall.
    bool const same = std::same_as<Op, op::alltoall> ? m.sent.blocks.count == 1 && s.receive.blocks.count == 1
                                                     : m.sent.blocks == s.receive.blocks;
    if (!same) {
      fail(found_.matched, "receives other blocks than are sent", r);
    } else if (m.sent.memory != s.arrives) {
      fail(found_.matched, "is mistaken about the memory that it is sent from", r);
    }
    book(me.loans.receive(s, m.loan, members_), r);
    if (me.loans.lent(s.receive.blocks, members_, blocks_)) {
      fail(found_.exact, "writes what it has lent to a peer", r);
    }
    if (in_place_) {
      for (rank_type other = 0; other < members_; ++other) {
        if (me.clock.at[other] < m.clock.at[other]) {
          me.clock.at[other] = m.clock.at[other];
        }
      }
      check_overtaking(me, s.receive.blocks);
      m.read = ++me.clock.at[r];
      m.clock = {};
    }
    std::uint32_t b = s.receive.blocks.first;
    for (std::uint32_t k = 0; good_ && k < s.receive.blocks.count; ++k) {
      if (s.how == action::copy) {
        store(r, s.receive.memory, b, s.arrives, m.data.at[k]);
      } else {
        fold(r, s, b, m.data.at[k]);
      }
      b = b + 1 == blocks_ ? 0 : b + 1;
    }
    m.data = {};
    return true;
  }

  /// Whether a write to these blocks could overtake a read; forgets the reads that are known to be over.
  constexpr void check_overtaking(state& me, block_range written) {
    index* link = &me.open;
    while (*link != none) {
      message& m = messages_.at[*link];
      if (me.clock.at[m.sent.peer] >= m.read) {
        *link = m.next_open;
        continue;
      }
      found_.war_free = found_.war_free && !m.sent.blocks.overlaps(written, blocks_);
      link = &m.next_open;
    }
  }

  constexpr void fold(rank_type r, step const& s, std::uint32_t b, contents const& arriving) {
    if constexpr (!reduces<Op>) {
      fail(found_.exact, "combines what is not to be combined", r);
      return;
    }
    contents const& own = read(r, s.local, b);
    found_.raw = found_.raw && s.arrives == memory::input;
    contents const& there = cell(r, s.receive.memory, b);
    if (s.local == memory::input && there.what == kind::accumulator && !there.passed) {
      fail(found_.exact, "overwrites an accumulator that has not been sent", r);
    }
    store(r, s.receive.memory, b, memory::work,
          s.how == action::fold_left ? combined(arriving, own) : combined(own, arriving));
  }

  constexpr void move_locally(rank_type r, step const& s) {
    if (s.send.blocks != s.receive.blocks) {
      fail(found_.matched, "moves blocks to other blocks", r);
      return;
    }
    if (in_place_ && reduces<Op>) {
      check_overtaking(ranks_.at[r], s.receive.blocks);
    }
    bool const lifts = reduces<Op> && s.send.memory == memory::input && s.receive.memory == memory::output;
    for (std::uint32_t k = 0; good_ && k < s.send.blocks.count; ++k) {
      const std::uint32_t b = (s.send.blocks.first + k) % blocks_;
      store(r, s.receive.memory, b, lifts ? memory::work : s.send.memory, read(r, s.send.memory, b));
    }
  }

  /// Puts contents that come from memory `from` into `to`. Accumulators become results in `output`.
  constexpr void store(rank_type r, memory to, std::uint32_t b, memory from, contents const& c) {
    if (to == memory::output && (r >= n_ || !wanted(op_, r, b))) {
      fail(found_.exact, "writes a block of output that it has no room for", r);
    }
    if constexpr (reduces<Op>) {
      bool const finishes = to == memory::output && from == memory::work;
      if (finishes && c.count != n_) {
        fail(found_.exact, "finishes before all contributions are in", r);
      }
    }
    contents& there = cell(r, to, b);
    there = c;
    there.what = holds(to);
    there.passed = false;
  }

  constexpr void check_results(std::uint32_t b) {
    contents want{};
    for (rank_type r = 0; r < n_; ++r) {
      if (!wanted(op_, r, b)) {
        continue;
      }
      if (want.count == 0 || !reduces<Op>) {
        want = expected(op_, n_, r, b);
      }
      contents const& have = cell(r, memory::output, b);
      if (have.what != want.what || have.count != want.count || have.print != want.print) {
        fail(found_.exact, "ends without its result", r);
      }
      found_.ordered = found_.ordered && have.ordered;
    }
  }

  Topology const& topology_;
  Op op_;
  rank_type n_;
  rank_type members_;  ///< the helpers, too
  std::uint32_t blocks_;
  bool in_place_;
  bool good_ = true;
  verdict& found_;
  table<contents> cells_;
  table<state> ranks_;
  table<rank_type> awake_;
  std::size_t awake_count_ = 0;
  table<message> messages_{};
  index message_count_ = 0;
};

}  // namespace tutti::detail::verify
