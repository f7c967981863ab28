// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/core/stream_numbers.hpp>
#include <tutti/detail/engine/machine.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/expects.hpp>
#include <tutti/message.hpp>
#include <tutti/transport/concept.hpp>

#include <array>
#include <bit>

namespace tutti::detail {

/// What the segments of one operation have in common.
template <class Communicator, class Topology, class Op, class Payload>
struct run_context {
  typename Communicator::transport_type& transport;
  typename Communicator::trace_type& trace;
  [[no_unique_address]] Topology topology;
  Op op;
  [[no_unique_address]] decltype(std::declval<Communicator>().extent()) extent;
  rank_type rank;
  Payload payload;
  tutti::detail::memories memories;
  operation_number& number;

  /// Tells the tracer, if there is one that listens.
  void note(event_kind kind, std::uint32_t at = 0, std::string_view text = {}) {
    tutti::record(trace, [&] { return event{kind, transport.now(), number, {}, at, no_rank, 0, text}; });
  }
  /// The same of a message, at a time before it.
  void note(event_kind kind, time_point when, stream on, std::uint32_t at, rank_type peer, std::size_t bytes) {
    tutti::record(trace, [&] { return event{kind, when, number, on, at, peer, bytes, {}}; });
  }
  /// The time, if anybody listens.
  [[nodiscard]] time_point traced_now() { return listens(trace) ? transport.now() : time_point{}; }

  /// Does the arithmetic, or leaves it to a transport that keeps its own time.
  template <class F>
  void compute(std::size_t bytes, F f) {
    if constexpr (computes<typename Communicator::transport_type>) {
      transport.compute(bytes, f);
    } else {
      f();
    }
  }
};

/// The vector of one operation cut into segments, several of them in flight, each a machine of its own.
/// Reused from call to call, so that a prepared operation allocates nothing. Refers to what the communicator has, which
/// must outlive it.
template <class Communicator, class Topology, class Op, class Payload>
class segments {
  using context_type = run_context<Communicator, Topology, Op, Payload>;

 public:
  /// `what` is what the operation tells that it is doing, and `number` which one it is, from `take_place` on.
  segments(Communicator& world, call const& what, operation_number& number, Topology topology, Payload const& payload)
      : streams_(world.streams()),
        context_{world.transport(), world.trace(), topology, Op{}, world.extent(), world.rank(), payload, {}, number},
        what_(what) {
    if constexpr (is_transfer) {
      sends_ = &world.sends();
      receives_ = &world.receives();
    }
  }

  /// Cuts the vector. `memory.work` may be left empty: then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error
  [[gnu::always_inline]] void prepare(choice<Topology> const& by, Op op, Payload payload, memories const& memory,
                                      std::size_t count) {
    if (!(context_.op == op)) {
      context_.op = op;
    }
    if constexpr (!std::is_empty_v<Topology>) {
      context_.topology = by.topology;
    }
    if constexpr (!std::is_empty_v<Payload>) {
      context_.payload = payload;
    }
    context_.memories = memory;
    count_ = count;
    blocks_ = context_.topology.blocks(op, context_.extent);
    segments_ = segment_count(by.segment_bytes);
    if (memory.work == nullptr) {
      provide_work();
    }
    begun_ = 0;
    done_ = 0;
    active_ = 0;
  }

  /// Takes the operation's place in the order of the communicator.
  [[gnu::always_inline]] void take_place() {
    if constexpr (is_transfer) {
      base_ = numbers().reserve(other());
      context_.number.sequence = base_;
      if (context_.number.from != context_.op.from || context_.number.to != context_.op.to) {
        context_.number.from = context_.op.from;
        context_.number.to = context_.op.to;
      }
    } else {
      base_ = streams_.reserve(segments_);
      context_.number.sequence = streams_.count_operation();
    }
  }

  /// Tells the tracer, if there is one that listens, what starts where: the first of its streams, or the number of
  /// the message among those of the pair.
  void note_start() {
    if (!listens(context_.trace)) {
      return;
    }
    event e{event_kind::start, context_.transport.now(), context_.number, {}, 0, no_rank, count_, {}};
    if constexpr (is_transfer) {
      e.on = {transfer_lane, static_cast<std::uint32_t>(base_)};
      e.peer = other();
    } else {
      e.on = stream_numbers::stream_of(base_);
    }
    auto const text = describe(what_, context_.number);
    e.text = text;
    context_.trace.record(e);
  }

  /// Goes as far as it can; true when the whole operation is complete.
  /// @throws error as a transport reports it
  bool advance() {
    for (;;) {
      while (begun_ != segments_ && may_begin()) {
        begin();
      }
      std::uint32_t const before = done_;
      for (std::uint32_t slots = active_; slots != 0; slots &= slots - 1) {
        auto const slot = static_cast<std::uint32_t>(std::countr_zero(slots));
        if (machines_[slot].advance(context_)) {
          end(slot);
        }
      }
      if (done_ == before || begun_ == segments_) {  // no lane has become free for a segment that waits for one
        return done_ == segments_;
      }
    }
  }

  /// Asks whether those that are waited for are at the same operation.
  void inquire() {
    if constexpr (inquires<typename Communicator::transport_type>) {
      each_that_waits([&](auto const& m) { context_.transport.inquire(m.awaits(), m.on()); });
    }
  }
  /// Says to ranks that ask which ranks they wait for.
  void say(bool blocks) {
    if constexpr (answers<typename Communicator::transport_type>) {
      each_that_waits([&](auto const& m) {
        context_.transport.say({.for_whom = m.awaits(),
                                .on = m.on(),
                                .moved = static_cast<std::uint32_t>(m.moved()) + m.step_number(),
                                .blocks = blocks,
                                .what = what_});
      });
    }
  }

  /// Changes as often as something is moved through memory. Over other transports there is nothing to stay awake for:
  /// there, messages go through the system anyway.
  [[nodiscard]] std::uint64_t progress() const noexcept {
    std::uint64_t sum = 0;
    if constexpr (shares_memory<typename Communicator::transport_type>) {
      sum = std::uint64_t{done_} << 32;
      for (std::uint32_t slots = active_; slots != 0; slots &= slots - 1) {
        sum += machines_[static_cast<std::uint32_t>(std::countr_zero(slots))].moved();
      }
    }
    return sum;
  }

  /// The rank that one of them waits for, if any; and the stream of one that is under way, or would be next.
  [[nodiscard]] rank_type awaits() const noexcept {
    rank_type peer = no_rank;
    each_that_waits([&](auto const& m) { peer = peer == no_rank ? m.awaits() : peer; });
    return peer;
  }
  [[nodiscard]] stream on() const noexcept {
    if constexpr (is_transfer) {
      return transfer();
    } else {
      return active_ == 0 ? stream_numbers::stream_of(base_ + begun_)
                          : machines_[static_cast<std::uint32_t>(std::countr_zero(active_))].on();
    }
  }

  /// Whether it waits for its turn: for operations of the same queue that were started before.
  [[nodiscard]] bool queued() const noexcept { return active_ == 0 && begun_ != segments_; }
  /// All collective operations are of one queue, and the messages from one rank to another of one each.
  [[nodiscard]] std::uint64_t queue() const noexcept {
    if constexpr (is_transfer) {
      return std::uint64_t{context_.op.from} << 32 | context_.op.to;
    } else {
      return UINT64_MAX;
    }
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept {
    return active_ == 0 ? 0 : machines_[static_cast<std::uint32_t>(std::countr_zero(active_))].step_number();
  }

 private:
  template <class F>
  void each_that_waits(F f) const {
    for (std::uint32_t slots = active_; slots != 0; slots &= slots - 1) {
      auto const& m = machines_[static_cast<std::uint32_t>(std::countr_zero(slots))];
      if (m.awaits() != no_rank) {
        f(m);
      }
    }
  }

  static constexpr bool is_transfer = std::same_as<Op, op::transfer>;

  [[nodiscard]] std::uint32_t segment_count(std::size_t segment_bytes) const {
    if (segment_bytes == 0 || is_transfer) {
      return 1;
    }
    const std::size_t size = context_.payload.size_of(space::output);
    const std::size_t longest = blocks_have_owners<Op> ? block_size(count_, blocks_, 0) : count_;
    const std::size_t per_segment = segment_bytes < size ? 1 : segment_bytes / size;
    const std::size_t cuts = longest == 0 ? 1 : (longest - 1) / per_segment + 1;
    expects(cuts <= UINT32_MAX, "segments of so few bytes would be more than 2^32: set segment(bytes) higher");
    return static_cast<std::uint32_t>(cuts);
  }

  [[nodiscard]] slice cut(std::uint32_t segment) const noexcept {
    if constexpr (blocks_have_owners<Op>) {
      return slice::of_blocks(count_, blocks_, segment, segments_);
    } else if (segments_ == 1) {
      return slice::of_vector(0, count_, blocks_);
    } else {
      return slice::of_vector(block_begin(count_, segments_, segment), block_size(count_, segments_, segment), blocks_);
    }
  }

  void provide_work() {
    bool used = false;
    const std::uint32_t steps = context_.topology.steps(context_.op, context_.extent, context_.rank);
    for (std::uint32_t i = 0; i < steps && !used; ++i) {
      const step st = context_.topology.at(context_.op, context_.extent, context_.rank, i);
      used = (st.sends() && st.send.memory == space::work) || st.receive.memory == space::work ||
             (st.how != action::copy && st.local == space::work);
    }
    if (!used) {
      return;
    }
    const std::size_t bytes = count_ * context_.payload.size_of(space::work);
    if (bytes > scratch_capacity_) {
      scratch_ = owned_array<std::byte>(bytes);
      scratch_capacity_ = bytes;
    }
    context_.memories.work = scratch_.get();
  }

  [[nodiscard]] bool may_begin() {
    if constexpr (is_transfer) {
      return numbers().may_begin(other(), base_);
    } else {
      return streams_.may_begin(base_ + begun_);
    }
  }
  void begin() {
    if constexpr (is_transfer) {
      active_ = 1;
      machines_[0].start(context_, cut(0), transfer());
    } else {
      const stream s = stream_numbers::stream_of(base_ + begun_);
      active_ |= 1U << s.lane;
      context_.transport.begin(s, what_);
      machines_[s.lane].start(context_, cut(begun_), s);
    }
    ++begun_;
  }
  void end(std::uint32_t slot) {
    active_ &= ~(1U << slot);
    ++done_;
    if constexpr (is_transfer) {
      numbers().end(other());
    } else {
      context_.transport.end(machines_[slot].on());
      streams_.end(slot);
    }
  }

  [[nodiscard]] stream transfer() const noexcept
    requires is_transfer
  {
    return {transfer_lane, what_.fingerprint()};
  }
  [[nodiscard]] rank_type other() const noexcept
    requires is_transfer
  {
    return context_.rank == context_.op.from ? context_.op.to : context_.op.from;
  }
  [[nodiscard]] transfer_numbers& numbers() noexcept
    requires is_transfer
  {
    return context_.rank == context_.op.from ? *sends_ : *receives_;
  }

  stream_numbers& streams_;
  transfer_numbers* sends_ = nullptr;  ///< of transfers alone
  transfer_numbers* receives_ = nullptr;
  context_type context_;
  std::size_t count_ = 0;
  std::uint32_t blocks_ = 1;
  std::uint32_t segments_ = 1;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t active_ = 0;  ///< which machines run, a bit for each lane
  std::uint64_t base_ = 0;    ///< the stream of the first segment
  std::size_t scratch_capacity_ = 0;
  owned_array<std::byte> scratch_;
  call const& what_;
  std::array<machine<context_type>, is_transfer ? 1 : collective_lanes> machines_;
};

}  // namespace tutti::detail
