// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/cost.hpp>

#include <algorithm>
#include <array>
#include <concepts>
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
concept timed_network =
    requires(N const net, rank_type sender, rank_type receiver, std::size_t bytes, tutti::loan loan, bool solo) {
      // `solo`: the sender's step receives nothing, so only the receiver works on the message.
      { net.message(sender, receiver, bytes, loan, solo) } -> std::same_as<message_time>;
      { net.combine(sender, receiver, bytes, loan) } -> std::same_as<std::int64_t>;  // receiver's price, beyond storing
      {
        net.overwrite(sender, receiver, bytes)
      } -> std::same_as<std::int64_t>;  // added if it overwrites the sent block
      {
        net.port(sender, receiver)
      } -> std::same_as<rank_type>;                   // the port that `sender` uses, below 2 n; ranks may share one
      { net.start() } -> std::same_as<std::int64_t>;  // the processor's price of a new segment
    };

/// Prices a schedule on a network, for any number of bytes, whole or in segments: an interpreter of schedules that
/// runs them in virtual time like the engine. Each rank has one processor, which handles the messages of its segments
/// one after the other; up to `lanes` segments are under way. Segments and messages are cut as the engine cuts them
/// (detail/engine/slice.hpp). Vectors are combined in place; an alltoall has three memories.
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
  static constexpr std::uint32_t message_limit = 1U << 11;

  template <class Topology, class Op>
    requires offers<Topology, Op>
  timed_schedule(Topology const& topology, Op const& op, rank_type n)
      : blocks_(topology.blocks(op, n)),
        n_(n),
        is_in_place_(!std::same_as<Op, op::alltoall>),
        blocks_have_owners_(blocks_have_owners<Op>),
        ranks_(members(topology, op, n)) {
    outgoing_.resize(2 * std::size_t{n} + (ranks_.size() - n) * ranks_.size());
    incoming_.resize(outgoing_.size());
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      const std::uint32_t count = topology.steps(op, n, r);
      ranks_[r].steps.reserve(count);
      for (std::uint32_t i = 0; i < count; ++i) {
        ranks_[r].steps.push_back(topology.at(op, n, r, i));
        step const& s = ranks_[r].steps.back();
        messages_ += !s.sends() ? 0 : blocks_have_owners_ ? s.send.blocks.count : 1U;
      }
    }
  }

  /// The number of messages in one of several segments, all ranks together.
  [[nodiscard]] std::size_t messages_in_segment() const noexcept { return messages_; }

  /// The number of segments of a vector of `bytes` bytes. `segment_bytes`: the maximum size of a segment, or of its
  /// part of a block where blocks have owners; 0: not cut. `blocks`: the lengths of the blocks in bytes; null: they are
  /// equal.
  [[nodiscard]] std::size_t segments(std::size_t bytes, std::size_t segment_bytes,
                                     partition const* blocks = nullptr) const noexcept {
    std::size_t const length = blocks != nullptr     ? blocks->longest()
                               : blocks_have_owners_ ? block_size(bytes, blocks_, 0)
                                                     : bytes;
    return segment_bytes == 0 || length == 0 ? 1 : (length - 1) / segment_bytes + 1;
  }

  /// The time when the last rank has finished a vector of `bytes` bytes, in `segments(...)` segments.
  template <timed_network Network>
  [[nodiscard]] std::int64_t time(Network const& network, std::size_t bytes, std::size_t segment_bytes = 0,
                                  partition const* blocks = nullptr) {
    std::size_t const count = set_vector(bytes, segment_bytes, blocks);
    auto const segment_limit =
        static_cast<std::uint32_t>(std::max<std::size_t>(message_limit / (messages_ + 1), 4 * lanes));
    if (count <= segment_limit) {
      return run(network, static_cast<std::uint32_t>(count));
    }
    std::int64_t const half_time = run(network, segment_limit / 2);
    std::int64_t const whole_time = run(network, segment_limit);
    std::int64_t end = whole_time;
    advance(end, total((whole_time - half_time) / (segment_limit - segment_limit / 2), count - segment_limit));
    return (std::max)(end, total(busiest(network), count));
  }

  /// A lower bound of `time`: the work of the busiest processor or interface. Costs a fraction of `time`, as no events
  /// are ordered.
  template <timed_network Network>
  [[nodiscard]] std::int64_t least_time(Network const& network, std::size_t bytes, std::size_t segment_bytes = 0,
                                        partition const* blocks = nullptr) {
    std::size_t const count = set_vector(bytes, segment_bytes, blocks);
    return total(busiest(network), count);
  }

 private:
  static constexpr std::int64_t never = INT64_MAX;
  static constexpr std::int64_t latest = never / 4;  ///< limit of all times, which keeps sums from overflow

  /// Adds a price, or the sum of a few, to a time.
  static void advance(std::int64_t& time, std::int64_t price) noexcept { time = (std::min)(time + price, latest); }
  [[nodiscard]] static std::int64_t total(std::int64_t price, std::size_t count) noexcept {
    std::int64_t product = 0;
    return __builtin_mul_overflow(price, count, &product) ? latest : (std::clamp)(product, -latest, latest);
  }

  /// A message in flight, or one that has arrived.
  struct message {
    rank_type sender;
    rank_type receiver;
    std::uint32_t segment;
    std::size_t bytes;
    message_time price;
    tutti::loan loan;
    std::int64_t send_end;     ///< time when all of it has been sent
    std::int64_t ready = 0;    ///< time when the receiver may begin with it
    std::int64_t arrival = 0;  ///< time when all of it has arrived
  };
  struct lane {
    std::uint32_t segment = 0;
    std::uint32_t step_index = 0;
    bool active = false;
    bool is_sent = false;
    std::uint32_t received_count = 0;  ///< messages of the step that have been received
    std::int64_t tail = 0;             ///< aggregators only: the time when everything received has arrived
  };
  struct state {
    std::vector<step> steps{};
    std::vector<message> inbox{};
    std::array<lane, lanes> segments{};
    std::uint32_t begun_count = 0;
    std::int64_t now = 0;
    std::int64_t end = 0;
    std::int64_t next_event = never;  ///< the time of its next event
  };
  /// One direction of an interface.
  struct port {
    std::int64_t busy = 0;  ///< end of the last transmission, without bursts
    std::int64_t load = 0;  ///< total transmission time
    struct times {
      std::int64_t begins;
      std::int64_t ends;
    };
    /// Transmits a message that arrives at `now`.
    times carry(std::int64_t now, message_time const& m) {
      busy = (std::max)(now, busy);
      advance(busy, m.wire);
      advance(load, m.wire);
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

  /// Sets the vector, and returns the number of its segments.
  [[nodiscard]] std::size_t set_vector(std::size_t bytes, std::size_t segment_bytes, partition const* blocks) {
    std::size_t const count = segments(bytes, segment_bytes, blocks);
    parts_ = blocks_have_owners_ ? count : 1;
    bytes_ = blocks_have_owners_ ? bytes : (bytes + count - 1) / count;
    begins_ = blocks != nullptr ? blocks->begins().data() : nullptr;
    return count;
  }
  /// The bytes of a range of blocks in one segment.
  [[nodiscard]] std::size_t bytes_of(block_range range) const {
    return (elements_in(bytes_, blocks_, range, begins_) + parts_ - 1) / parts_;
  }
  /// The number of messages in which a range of blocks travels: one for each run of contiguous elements.
  [[nodiscard]] std::uint32_t messages_of(block_range range) const noexcept {
    return parts_ != 1 ? (std::max)(range.count, 1U) : range.first + range.count > blocks_ ? 2 : 1;
  }
  /// The blocks of message `k` of a range.
  [[nodiscard]] block_range message_blocks(block_range range, std::uint32_t k) const noexcept {
    if (parts_ != 1) {
      return {(range.first + k) % blocks_, (std::min)(range.count, 1U)};
    }
    std::uint32_t const first_count = (std::min)(range.count, blocks_ - range.first);
    return k == 0 ? block_range{range.first, first_count} : block_range{0, range.count - first_count};
  }
  /// The price of a message of a step. A block is lent only if it travels in one message.
  template <class Network>
  [[nodiscard]] message_time price_of(Network const& network, rank_type sender, step const& s,
                                      std::size_t bytes) const {
    return network.message(sender, s.send.peer, bytes, loan_of(s), !s.receives());
  }
  [[nodiscard]] tutti::loan loan_of(step const& s) const noexcept {
    return messages_of(s.send.blocks) == 1 ? s.loan : loan::none;
  }
  /// The processor's price of a local step.
  template <class Network>
  [[nodiscard]] std::int64_t conversion(Network const& network, rank_type r, step const& s) const {
    std::int64_t sum = 0;
    for (std::uint32_t k = 0; k != messages_of(s.send.blocks); ++k) {
      advance(sum, network.combine(r, r, bytes_of(message_blocks(s.send.blocks, k)), loan::none));
    }
    return sum;
  }

  template <class Network>
  std::int64_t run(Network const& network, std::uint32_t segments) {
    segments_ = segments;
    events_.clear();
    in_flight_.clear();
    std::fill(outgoing_.begin(), outgoing_.end(), port{});
    std::fill(incoming_.begin(), incoming_.end(), port{});
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      state& me = ranks_[r];
      me.inbox.clear();
      me.segments = {};
      me.begun_count = 0;
      me.now = 0;
      me.end = 0;
      me.next_event = never;
      wake(r, 0);
    }
    while (!events_.empty()) {
      std::pop_heap(events_.begin(), events_.end());
      event const e = events_.back();
      events_.pop_back();
      if (e.message != event::wakes) {
        arrive(network, in_flight_[e.message], e.time);
        continue;
      }
      state& me = ranks_[e.rank];
      if (e.time == me.next_event) {
        me.next_event = never;
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
      end = (std::max)(end, r.end);
    }
    for (port const& i : outgoing_) {
      end = (std::max)(end, i.load);
    }
    for (port const& i : incoming_) {
      end = (std::max)(end, i.load);
    }
    return end;
  }

  /// The work of the busiest processor or interface for one segment.
  template <class Network>
  std::int64_t busiest(Network const& network) {
    std::fill(outgoing_.begin(), outgoing_.end(), port{});
    std::fill(incoming_.begin(), incoming_.end(), port{});
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      ranks_[r].inbox.clear();
      ranks_[r].now = r < n_ ? network.start() : 0;
    }
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      for (step const& s : ranks_[r].steps) {
        if (s.sends()) {
          for (std::uint32_t k = 0; k != messages_of(s.send.blocks); ++k) {
            const std::size_t bytes = bytes_of(message_blocks(s.send.blocks, k));
            message_time const price = price_of(network, r, s, bytes);
            advance(ranks_[r].now, price.send);
            advance(outgoing_[port_of(network, r, s.send.peer)].load, price.wire);
            advance(incoming_[port_of(network, s.send.peer, r)].load, price.wire);
            ranks_[s.send.peer].inbox.push_back({r, s.send.peer, 0, bytes, price, loan_of(s), 0});
          }
        } else if (converts(s)) {
          advance(ranks_[r].now, conversion(network, r, s));
        }
      }
    }
    std::int64_t maximum = 0;
    for (port const& i : outgoing_) {
      maximum = (std::max)(maximum, i.load);
    }
    for (port const& i : incoming_) {
      maximum = (std::max)(maximum, i.load);
    }
    std::vector<std::size_t> next(ranks_.size());
    for (rank_type r = 0; r < n_; ++r) {
      state& me = ranks_[r];
      // The senders were visited in rank order, so each one's messages are contiguous.
      std::fill(next.begin(), next.end(), me.inbox.size());
      for (std::size_t i = me.inbox.size(); i-- > 0;) {
        next[me.inbox[i].sender] = i;
      }
      for (step const& s : me.steps) {
        for (std::uint32_t k = 0; s.receives() && k != messages_of(s.receive.blocks); ++k) {
          advance(me.now, work_on(network, s, me.inbox[next[s.receive.peer]++]));
        }
      }
      maximum = (std::max)(maximum, me.now);
    }
    return maximum;
  }

  /// The receiver's processor time for a message.
  template <class Network>
  [[nodiscard]] std::int64_t work_on(Network const& network, step const& s, message const& m) const {
    std::int64_t const needs = m.price.receive +
                               (s.action == action::copy ? 0 : network.combine(m.sender, m.receiver, m.bytes, m.loan)) +
                               (overwrites_itself(s) ? network.overwrite(m.sender, m.receiver, m.bytes) : 0);
    return std::max<std::int64_t>(needs, 0);
  }

  void wake(rank_type r, std::int64_t time) {
    if (time < ranks_[r].next_event) {
      ranks_[r].next_event = time;
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
    bool const is_aggregator = r >= n_;
    begin_segments(me, is_aggregator ? 0 : network.start());
    for (lane& slot : me.segments) {
      while (slot.active) {
        if (slot.step_index == me.steps.size()) {
          slot.active = false;
          me.end = me.now;
          begin_segments(me, is_aggregator ? 0 : network.start());
          continue;
        }
        step const& s = me.steps[slot.step_index];
        if (s.sends() && !slot.is_sent) {
          send(network, r, slot, s);
          return wake(r, me.now);
        }
        if (s.receives() && slot.received_count != messages_of(s.receive.blocks)) {
          auto const m = std::find_if(me.inbox.begin(), me.inbox.end(), [&](message const& candidate) {
            return candidate.sender == s.receive.peer && candidate.segment == slot.segment;
          });
          if (m == me.inbox.end() || m->ready > me.now) {
            next = m == me.inbox.end() ? next : (std::min)(next, m->ready);
            break;
          }
          if (is_aggregator) {
            slot.tail = (std::max)(slot.tail, m->arrival);
            me.inbox.erase(m);
            ++slot.received_count;
            continue;
          }
          std::int64_t const price = work_on(network, s, *m);
          // The last part of a message that arrives in parts is processed when it is there.
          std::int64_t const last = whole(*m) ? price : price / 1024 * (m->price.lead * 1024 / m->price.send);
          me.now = (std::min)((std::max)(me.now + price, m->arrival + last), latest);
          me.inbox.erase(m);
          ++slot.received_count;
          return wake(r, me.now);
        }
        slot.is_sent = false;
        slot.received_count = 0;
        ++slot.step_index;
        if (converts(s)) {
          advance(me.now, conversion(network, r, s));
          return wake(r, me.now);
        }
      }
    }
    if (next != never) {
      wake(r, next);
    }
  }

  void begin_segments(state& me, std::int64_t price) {
    while (me.begun_count != segments_ && !me.segments[me.begun_count % lanes].active) {
      me.segments[me.begun_count % lanes] = {.segment = me.begun_count, .active = true};
      ++me.begun_count;
      advance(me.now, price);
    }
  }

  template <class Network>
  void send(Network const& network, rank_type r, lane& slot, step const& s) {
    state& me = ranks_[r];
    rank_type const receiver = s.send.peer;
    bool const is_aggregator = r >= n_;
    for (std::uint32_t k = 0; k != messages_of(s.send.blocks); ++k) {
      const std::size_t bytes = bytes_of(message_blocks(s.send.blocks, k));
      message_time price = price_of(network, r, s, bytes);
      if (is_aggregator) {
        price.send = price.lead = 0;
      }
      auto const [departure_begin, departure_end] =
          outgoing_[port_of(network, r, receiver)].carry(me.now + price.lead, price);
      advance(me.now, price.send);
      std::int64_t const send_end = is_aggregator      ? slot.tail
                                    : price.burst == 0 ? me.now
                                                       : (std::max)(me.now, departure_end);
      in_flight_.push_back({r, receiver, slot.segment, bytes, price, loan_of(s), send_end});
      expect({departure_begin + price.latency, in_flight_.size() - 1, no_rank});
    }
    slot.is_sent = true;
  }

  template <class Network>
  void arrive(Network const& network, message& m, std::int64_t now) {
    auto const [begins, ends] = incoming_[port_of(network, m.receiver, m.sender)].carry(now, m.price);
    m.arrival = (std::max)(ends, m.send_end + m.price.latency);
    m.ready = whole(m) ? m.arrival : begins;
    if (m.receiver >= n_ && m.bytes > aggregator_packet_bytes) {
      m.ready = begins +
                m.price.wire / static_cast<std::int64_t>(m.bytes) * static_cast<std::int64_t>(aggregator_packet_bytes);
    }
    ranks_[m.receiver].inbox.push_back(m);
    wake(m.receiver, m.ready);
  }

  /// The interface that a member uses; aggregators' ports follow those of the ranks.
  template <class Network>
  [[nodiscard]] std::size_t port_of(Network const& network, rank_type member, rank_type peer) const noexcept {
    return member < n_ ? network.port(member, peer) : 2 * std::size_t{n_} + (member - n_) * ranks_.size() + peer;
  }

  /// True if the step overwrites its sent block, as in the engine.
  [[nodiscard]] bool overwrites_itself(step const& s) const noexcept {
    return s.sends() && s.send.blocks.overlaps(s.receive.blocks, blocks_) &&
           (is_in_place_ || s.send.memory == s.receive.memory);
  }

  /// True for a local step that copies elements, lifts contributions or lowers accumulators. One from input to output
  /// does nothing in place.
  [[nodiscard]] bool converts(step const& s) const noexcept {
    return !s.sends() && !s.receives() &&
           (!is_in_place_ || (s.send.memory == memory::work) != (s.receive.memory == memory::work));
  }

  static bool whole(message const& m) noexcept { return m.price.lead == m.price.send; }

  std::uint32_t blocks_;
  rank_type n_;
  bool is_in_place_;
  bool blocks_have_owners_;   ///< every block is cut into segments, and not the vector
  std::size_t messages_ = 0;  ///< messages in one of several segments
  std::uint32_t segments_ = 1;
  std::size_t bytes_ = 0;                ///< bytes of a segment; of the vector where blocks have owners
  std::size_t const* begins_ = nullptr;  ///< the begins of uneven blocks of the vector, and the end of the last
  std::size_t parts_ = 1;                ///< segments into which every block is cut
  std::vector<state> ranks_;
  std::vector<port> outgoing_{};  ///< outgoing directions; `incoming_` has the incoming ones
  std::vector<port> incoming_{};
  std::vector<event> events_{};
  std::vector<message> in_flight_{};
};

}  // namespace tutti::detail::tuning
