// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/cost.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The price of one message, in picoseconds: LogGP (Alexandrov and others, 1995) with o and G as functions of the
/// message's size, as in PLogP (Kielmann, Bal, Verstoep, 2000). Extended by `lead`, for transports that forward the
/// beginning of a message before they have taken its end.
struct message_time {
  std::int64_t send = 0;     ///< time of the sender's processor
  std::int64_t lead = 0;     ///< part of `send` until the message begins to leave; equal to `send` if it leaves whole
  std::int64_t latency = 0;  ///< from interface to interface
  std::int64_t wire = 0;     ///< time that it keeps the interface of each end busy
  std::int64_t receive = 0;  ///< time of the receiver's processor without combining
  std::int64_t burst = 0;    ///< part of `wire` that an idle interface saves up to pass at once
  friend bool operator==(message_time const&, message_time const&) = default;
};

/// A network for which schedules can be priced. Times are in picoseconds.
template <class N>
concept timed_network = requires(N const net, rank_type from, rank_type to, std::size_t bytes, loan held, bool solo) {
  // `solo`: the sender's step receives nothing, so only the receiver works on the message.
  { net.message(from, to, bytes, held, solo) } -> std::same_as<message_time>;
  { net.combine(from, to, bytes, held) } -> std::same_as<std::int64_t>;  // receiver's price, beyond storing
  { net.overwrite(from, to, bytes) } -> std::same_as<std::int64_t>;      // added if it overwrites the sent block
  { net.port(from, to) } -> std::same_as<rank_type>;  // the port that `from` uses, below 2 n; ranks may share one
  { net.start() } -> std::same_as<std::int64_t>;      // the processor's price of a new segment
};

/// Prices a schedule on a network, for any number of bytes, whole or in segments: an interpreter of schedules that
/// runs them in virtual time like the engine. Each rank has one processor, which handles the messages of its segments
/// one after the other; up to `lanes` segments are under way. Vectors are combined in place.
///
/// With a network of LogGP's parameters it agrees with the simulator (docs/guide/simulation.md), except for the order
/// of simultaneous events.
///
/// An interface with a burst is a token bucket. The result is the time of one operation in a series: it starts with
/// full buckets, but takes at least the time to refill them.
///
/// An in-network aggregator has one port per member and no processor that could be busy. It forwards the first packet
/// of a message as soon as it has that packet from all members (cut-through).
///
/// Integers only, so that all ranks get the same result.
///
/// Cost: memory for all steps of all ranks; time() takes about 0.1 us per message, for some 2,000 messages. Longer
/// runs are extrapolated from the price of each further segment.
class timed_schedule {
 public:
  static constexpr std::uint32_t lanes = 8;  ///< equal to the engine's number of lanes
  static constexpr std::uint32_t most_messages = 1U << 11;

  template <class Topology, class Op>
    requires offers<Topology, Op>
  timed_schedule(Topology const& topology, Op const& op, rank_type n)
      : blocks_(topology.blocks(op, n)), n_(n), ranks_(members(topology, op, n)) {
    out_.resize(2 * std::size_t{n} + (ranks_.size() - n) * ranks_.size());
    in_.resize(out_.size());
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      const std::uint32_t count = topology.steps(op, n, r);
      ranks_[r].steps.reserve(count);
      for (std::uint32_t i = 0; i < count; ++i) {
        ranks_[r].steps.push_back(topology.at(op, n, r, i));
        messages_ += ranks_[r].steps.back().sends() ? 1U : 0U;
      }
    }
  }

  /// The time when the last rank has finished a vector of `bytes` bytes, cut into segments of at most `segment_bytes`
  /// bytes (0: not cut).
  template <timed_network Network>
  [[nodiscard]] std::int64_t time(Network const& network, std::size_t bytes, std::size_t segment_bytes = 0) {
    const std::size_t segments = segment_bytes == 0 || bytes == 0 ? 1 : (bytes - 1) / segment_bytes + 1;
    bytes_ = (bytes + segments - 1) / segments;
    auto const many = static_cast<std::uint32_t>(std::max<std::size_t>(most_messages / (messages_ + 1), 4 * lanes));
    if (segments <= many) {
      return run(network, static_cast<std::uint32_t>(segments));
    }
    std::int64_t const some = run(network, many / 2);
    std::int64_t const more = run(network, many);
    std::int64_t const rest = (more - some) / (many - many / 2) * static_cast<std::int64_t>(segments - many);
    return (std::max)(more + rest, busiest(network) * static_cast<std::int64_t>(segments));
  }

  /// A lower bound of `time`: the work of the busiest processor or interface. Costs a fraction of `time`, as no events
  /// are ordered.
  template <timed_network Network>
  [[nodiscard]] std::int64_t least_time(Network const& network, std::size_t bytes, std::size_t segment_bytes = 0) {
    const std::size_t segments = segment_bytes == 0 || bytes == 0 ? 1 : (bytes - 1) / segment_bytes + 1;
    bytes_ = (bytes + segments - 1) / segments;
    return busiest(network) * static_cast<std::int64_t>(segments);
  }

 private:
  static constexpr std::int64_t never = INT64_MAX;

  /// A message in flight, or one that has arrived.
  struct message {
    rank_type from;
    rank_type to;
    std::uint32_t segment;
    std::size_t bytes;
    message_time takes;
    tutti::loan loan;
    std::int64_t sent;         ///< time when all of it has been sent
    std::int64_t ready = 0;    ///< time when the receiver may begin with it
    std::int64_t arrived = 0;  ///< time when all of it has arrived
  };
  struct lane {
    std::uint32_t segment = 0;
    std::uint32_t at = 0;
    bool active = false;
    bool sent = false;
    bool received = false;
    std::int64_t tail = 0;  ///< aggregators only: the time when everything received has arrived
  };
  struct state {
    std::vector<step> steps{};
    std::vector<message> inbox{};
    std::array<lane, lanes> segments{};
    std::uint32_t begun = 0;
    std::int64_t now = 0;
    std::int64_t ended = 0;
    std::int64_t woken = never;  ///< the time of its next event
  };
  /// One direction of an interface.
  struct port {
    std::int64_t busy = 0;     ///< end of the last transmission, without bursts
    std::int64_t carried = 0;  ///< total transmission time
    struct times {
      std::int64_t begins;
      std::int64_t ends;
    };
    /// Transmits a message that arrives at `now`.
    times carry(std::int64_t now, message_time const& m) {
      busy = (std::max)(now, busy) + m.wire;
      carried += m.wire;
      return {(std::max)(now, busy - m.burst - m.wire), (std::max)(now, busy - m.burst)};
    }
  };
  /// A message reaches its receiver's interface, or a rank takes its next action.
  struct event {
    std::int64_t time;
    std::size_t message;  ///< the message's index, or `wakes`
    rank_type rank;
    static constexpr std::size_t wakes = SIZE_MAX;
    /// Orders the heap: the earliest first, messages before ranks.
    friend bool operator<(event const& a, event const& b) noexcept {
      return a.time != b.time ? a.time > b.time : a.message != b.message ? a.message > b.message : a.rank > b.rank;
    }
  };

  template <class Network>
  std::int64_t run(Network const& network, std::uint32_t segments) {
    segments_ = segments;
    events_.clear();
    flying_.clear();
    std::fill(out_.begin(), out_.end(), port{});
    std::fill(in_.begin(), in_.end(), port{});
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      state& me = ranks_[r];
      me.inbox.clear();
      me.segments = {};
      me.begun = 0;
      me.now = 0;
      me.ended = 0;
      me.woken = never;
      wake(r, 0);
    }
    while (!events_.empty()) {
      std::pop_heap(events_.begin(), events_.end());
      event const e = events_.back();
      events_.pop_back();
      if (e.message != event::wakes) {
        arrive(network, flying_[e.message], e.time);
        continue;
      }
      state& me = ranks_[e.rank];
      if (e.time == me.woken) {
        me.woken = never;
      }
      if (me.now > e.time) {
        wake(e.rank, me.now);  // the rank is busy until then
      } else {
        me.now = e.time;
        act(network, e.rank);
      }
    }
    std::int64_t end = 0;
    for (state const& r : ranks_) {
      end = (std::max)(end, r.ended);
    }
    for (port const& i : out_) {
      end = (std::max)(end, i.carried);
    }
    for (port const& i : in_) {
      end = (std::max)(end, i.carried);
    }
    return end;
  }

  /// The work of the busiest processor or interface for one segment.
  template <class Network>
  std::int64_t busiest(Network const& network) {
    std::fill(out_.begin(), out_.end(), port{});
    std::fill(in_.begin(), in_.end(), port{});
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      ranks_[r].inbox.clear();
      ranks_[r].now = r < n_ ? network.start() : 0;
    }
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      for (step const& s : ranks_[r].steps) {
        if (s.sends()) {
          const std::size_t bytes = elements_in(bytes_, blocks_, s.send.blocks);
          message_time const takes = network.message(r, s.send.peer, bytes, s.loan, !s.receives());
          ranks_[r].now += takes.send;
          out_[port_of(network, r, s.send.peer)].carried += takes.wire;
          in_[port_of(network, s.send.peer, r)].carried += takes.wire;
          ranks_[s.send.peer].inbox.push_back({r, s.send.peer, 0, bytes, takes, s.loan, 0});
        } else if (finishes(s)) {
          ranks_[r].now += network.combine(r, r, elements_in(bytes_, blocks_, s.send.blocks), loan::none);
        }
      }
    }
    std::int64_t most = 0;
    for (port const& i : out_) {
      most = (std::max)(most, i.carried);
    }
    for (port const& i : in_) {
      most = (std::max)(most, i.carried);
    }
    std::vector<std::size_t> next(ranks_.size());
    for (rank_type r = 0; r < n_; ++r) {
      state& me = ranks_[r];
      // The senders were visited in rank order, so each one's messages are contiguous.
      std::fill(next.begin(), next.end(), me.inbox.size());
      for (std::size_t i = me.inbox.size(); i-- > 0;) {
        next[me.inbox[i].from] = i;
      }
      for (step const& s : me.steps) {
        if (s.receives()) {
          me.now += work_on(network, s, me.inbox[next[s.receive.peer]++]);
        }
      }
      most = (std::max)(most, me.now);
    }
    return most;
  }

  /// The receiver's processor time for a message.
  template <class Network>
  [[nodiscard]] std::int64_t work_on(Network const& network, step const& s, message const& m) const {
    std::int64_t const needs = m.takes.receive +
                               (s.action == action::copy ? 0 : network.combine(m.from, m.to, m.bytes, m.loan)) +
                               (overwrites_itself(s) ? network.overwrite(m.from, m.to, m.bytes) : 0);
    return std::max<std::int64_t>(needs, 0);
  }

  void wake(rank_type r, std::int64_t time) {
    if (time < ranks_[r].woken) {
      ranks_[r].woken = time;
      expect({time, event::wakes, r});
    }
  }
  void expect(event const& e) {
    events_.push_back(e);
    std::push_heap(events_.begin(), events_.end());
  }

  /// Takes the rank's next action and schedules the one after it.
  template <class Network>
  void act(Network const& network, rank_type r) {
    state& me = ranks_[r];
    std::int64_t next = never;
    bool const helps = r >= n_;
    begin_segments(me, helps ? 0 : network.start());
    for (lane& l : me.segments) {
      while (l.active) {
        if (l.at == me.steps.size()) {
          l.active = false;
          me.ended = me.now;
          begin_segments(me, helps ? 0 : network.start());
          continue;
        }
        step const& s = me.steps[l.at];
        if (s.sends() && !l.sent) {
          send(network, r, l, s);
          return wake(r, me.now);
        }
        if (s.receives() && !l.received) {
          auto const m = std::find_if(me.inbox.begin(), me.inbox.end(), [&](message const& in) {
            return in.from == s.receive.peer && in.segment == l.segment;
          });
          if (m == me.inbox.end() || m->ready > me.now) {
            next = m == me.inbox.end() ? next : (std::min)(next, m->ready);
            break;
          }
          if (helps) {
            l.tail = (std::max)(l.tail, m->arrived);
            me.inbox.erase(m);
            l.received = true;
            continue;
          }
          std::int64_t const takes = work_on(network, s, *m);
          // The last part of a message that arrives in parts is processed when it is there.
          std::int64_t const last = whole(*m) ? takes : takes / 1024 * (m->takes.lead * 1024 / m->takes.send);
          me.now = (std::max)(me.now + takes, m->arrived + last);
          me.inbox.erase(m);
          l.received = true;
          return wake(r, me.now);
        }
        l.sent = false;
        l.received = false;
        ++l.at;
        if (finishes(s)) {
          me.now += network.combine(r, r, elements_in(bytes_, blocks_, s.send.blocks), loan::none);
          return wake(r, me.now);
        }
      }
    }
    if (next != never) {
      wake(r, next);
    }
  }

  void begin_segments(state& me, std::int64_t takes) {
    while (me.begun != segments_ && !me.segments[me.begun % lanes].active) {
      me.segments[me.begun % lanes] = {.segment = me.begun, .active = true};
      ++me.begun;
      me.now += takes;
    }
  }

  template <class Network>
  void send(Network const& network, rank_type r, lane& l, step const& s) {
    state& me = ranks_[r];
    rank_type const to = s.send.peer;
    const std::size_t bytes = elements_in(bytes_, blocks_, s.send.blocks);
    bool const helps = r >= n_;
    message_time takes = network.message(r, to, bytes, s.loan, !s.receives());
    if (helps) {
      takes.send = takes.lead = 0;
    }
    auto const [leaves, left] = out_[port_of(network, r, to)].carry(me.now + takes.lead, takes);
    me.now += takes.send;
    l.sent = true;
    std::int64_t const sent = helps ? l.tail : takes.burst == 0 ? me.now : (std::max)(me.now, left);
    flying_.push_back({r, to, l.segment, bytes, takes, s.loan, sent});
    expect({leaves + takes.latency, flying_.size() - 1, no_rank});
  }

  template <class Network>
  void arrive(Network const& network, message& m, std::int64_t now) {
    auto const [begins, ends] = in_[port_of(network, m.to, m.from)].carry(now, m.takes);
    m.arrived = (std::max)(ends, m.sent + m.takes.latency);
    m.ready = whole(m) ? m.arrived : begins;
    if (m.to >= n_ && m.bytes > aggregator_packet_bytes) {
      m.ready = begins +
                m.takes.wire / static_cast<std::int64_t>(m.bytes) * static_cast<std::int64_t>(aggregator_packet_bytes);
    }
    ranks_[m.to].inbox.push_back(m);
    wake(m.to, m.ready);
  }

  /// The interface that a member uses; aggregators' ports follow those of the ranks.
  template <class Network>
  [[nodiscard]] std::size_t port_of(Network const& network, rank_type of, rank_type other) const noexcept {
    return of < n_ ? network.port(of, other) : 2 * std::size_t{n_} + (of - n_) * ranks_.size() + other;
  }

  /// True if the step overwrites its sent block when the operation runs in place, as in the engine.
  [[nodiscard]] bool overwrites_itself(step const& s) const noexcept {
    return s.sends() && s.send.blocks.overlaps(s.receive.blocks, blocks_);
  }

  /// True for a local step that lowers accumulators combined by another member.
  static bool finishes(step const& s) noexcept {
    return !s.sends() && !s.receives() && s.send.memory == memory::work && s.receive.memory == memory::output;
  }

  static bool whole(message const& m) noexcept { return m.takes.lead == m.takes.send; }

  std::uint32_t blocks_;
  rank_type n_;
  std::size_t messages_ = 0;  ///< messages in one segment
  std::uint32_t segments_ = 1;
  std::size_t bytes_ = 0;  ///< bytes of a segment
  std::vector<state> ranks_;
  std::vector<port> out_{};  ///< outgoing directions; `in_` has the incoming ones
  std::vector<port> in_{};
  std::vector<event> events_{};
  std::vector<message> flying_{};
};

}  // namespace tutti::detail::tuning
