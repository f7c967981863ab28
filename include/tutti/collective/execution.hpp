// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/machine.hpp>
#include <tutti/collective/memories.hpp>
#include <tutti/collective/wait.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/core/owned.hpp>
#include <tutti/core/pending.hpp>
#include <tutti/core/recorder.hpp>
#include <tutti/core/stream_numbers.hpp>
#include <tutti/transport/concept.hpp>

#include <array>
#include <bit>
#include <exception>

namespace tutti {

/// Whether a block's place is part of the result, so that segments are parts of blocks.
template <class Op>
inline constexpr bool blocks_have_owners = false;
template <>
inline constexpr bool blocks_have_owners<op::reduce_scatter> = true;
template <>
inline constexpr bool blocks_have_owners<op::allgather> = true;
template <>
inline constexpr bool blocks_have_owners<op::gather> = true;
template <>
inline constexpr bool blocks_have_owners<op::scatter> = true;
template <>
inline constexpr bool blocks_have_owners<op::alltoall> = true;

/// One run of one operation: its segments, several of them in flight, each a machine.
/// Reused from call to call, so that a prepared operation allocates nothing.
template <class Communicator, class Topology, class Op, class Payload>
class execution : public pending {
 public:
  execution(Communicator& world, Topology topology, Payload const& payload)
      : pending{.advance = [](pending& p) { return self(p).advance_quietly(); },
                .poll = [](pending& p) { self(p).poll(); },
                .check_deadline = [](pending& p) { self(p).check_deadline(); },
                .wait = [](pending& p, duration limit) { return self(p).wait_ended(limit); },
                .result = [](pending& p) { self(p).throw_failure(); },
                .cancel = [](pending& p) { self(p).give_up(); }},
        world_(&world),
        context_{world.transport(), world.trace(), topology, Op{}, world.extent(), world.rank(), payload, {}, 0} {}

  /// Takes the operation's place in the order of the communicator. `memory.work` may be left empty:
  /// then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error; no place has been taken then, but the epoch has failed
  void start(Op op, Payload payload, call const& what, memories const& memory, std::size_t count,
             std::size_t segment_bytes) {
    context_.op = op;
    if constexpr (!std::is_empty_v<Payload>) {
      context_.payload = payload;
    }
    context_.memories = memory;
    count_ = count;
    what_ = what;
    watched_ = false;
    error_ = nullptr;
    blocks_ = context_.topology.blocks(op, context_.extent);
    try {
      segments_ = segment_count(segment_bytes);
      if (memory.work == nullptr) {
        provide_work();
      }
    } catch (...) {  // the others would wait for this rank
      context_.transport.poison({failure::cancelled, context_.rank, context_.rank});
      throw;
    }
    ended = false;
    begun_ = 0;
    done_ = 0;
    active_ = 0;
    context_.sequence = world_->recent().start(what_);
    if constexpr (Communicator::trace_type::enabled) {
      context_.note(event_kind::start, 0, no_rank, count, describe(what_));
    }
    base_ = reserve();
  }

  /// Goes as far as it can; true when the whole operation is complete.
  /// @throws error as a transport reports it
  bool advance() {
    while (begun_ != segments_ && may_begin()) {
      begin();
    }
    for (std::uint32_t slots = active_; slots != 0; slots &= slots - 1) {
      auto const slot = static_cast<std::uint32_t>(std::countr_zero(slots));
      if (machines_[slot].advance(context_)) {
        end(slot);
      }
    }
    return done_ == segments_;
  }

  /// The blocking form: until it is complete.
  /// @throws error, and what a reduction throws; the epoch is poisoned then, and no peer reads this
  ///         rank's memory any more
  void finish(duration limit) {
    waited how = waited::done;
    try {
      if (!advance()) {
        how = tutti::wait(
            *world_, [this] { return advance(); }, [this] { inquire(); }, limit);
      }
    } catch (...) {
      abandon_by_exception();
      throw_failure();
    }
    if (how != waited::done) {
      abandon(how == waited::limit ? late() : explained());
      throw_failure();
    }
    complete();
  }

  [[nodiscard]] Communicator& world() noexcept { return *world_; }
  void set_limit(duration limit) noexcept { limit_ = limit; }

 private:
  struct context {
    typename Communicator::transport_type& transport;
    typename Communicator::trace_type& trace;
    [[no_unique_address]] Topology topology;
    Op op;
    [[no_unique_address]] decltype(std::declval<Communicator>().extent()) extent;
    rank_type rank;
    Payload payload;
    tutti::memories memories;
    std::uint64_t sequence;

    /// Tells the tracer, if there is one that listens.
    void note(event_kind kind, std::uint32_t at, rank_type peer = no_rank, std::size_t bytes = 0,
              std::string_view text = {}) {
      tutti::record(trace, [&] { return event{kind, transport.now(), sequence, at, peer, bytes, text}; });
    }

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

  static constexpr bool is_transfer = std::same_as<Op, op::transfer>;

  static execution& self(pending& p) noexcept { return static_cast<execution&>(p); }

  [[nodiscard]] std::uint32_t segment_count(std::size_t segment_bytes) const {
    if (segment_bytes == 0 || is_transfer) {
      return 1;
    }
    const std::size_t size = context_.payload.size_of(space::output);
    const std::size_t longest = blocks_have_owners<Op> ? block_size(count_, blocks_, 0) : count_;
    const std::size_t per_segment = segment_bytes < size ? 1 : segment_bytes / size;
    const std::size_t segments = longest == 0 ? 1 : (longest - 1) / per_segment + 1;
    expects(segments <= UINT32_MAX, "segments of so few bytes would be more than 2^32: set segment(bytes) higher");
    return static_cast<std::uint32_t>(segments);
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

  // --- streams

  std::uint64_t reserve() {
    if constexpr (is_transfer) {
      return numbers().reserve(other());
    } else {
      return world_->streams().reserve(segments_);
    }
  }
  [[nodiscard]] bool may_begin() {
    if constexpr (is_transfer) {
      return numbers().may_begin(other(), base_);
    } else {
      return world_->streams().may_begin(base_ + begun_);
    }
  }
  void begin() {
    if constexpr (is_transfer) {
      active_ = 1;
      machines_[0].start(context_, cut(0), {transfer_lane, what_.fingerprint()});
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
      world_->streams().end(slot);
    }
  }

  [[nodiscard]] rank_type other() const noexcept
    requires is_transfer
  {
    return context_.rank == context_.op.from ? context_.op.to : context_.op.from;
  }
  [[nodiscard]] transfer_numbers& numbers() noexcept
    requires is_transfer
  {
    return context_.rank == context_.op.from ? world_->sends() : world_->receives();
  }

  void complete() {
    world_->recent().finish(context_.sequence, recorder::state::completed);
    context_.note(event_kind::complete, 0);
  }

  // --- failure

  /// Asks whether those that are waited for are at the same operation.
  void inquire() {
    if constexpr (inquires<typename Communicator::transport_type>) {
      for (std::uint32_t slots = active_; slots != 0; slots &= slots - 1) {
        auto const& m = machines_[static_cast<std::uint32_t>(std::countr_zero(slots))];
        if (m.awaits() != no_rank) {
          context_.transport.inquire(m.awaits(), m.on());
        }
      }
    }
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept {
    return active_ == 0 ? 0 : machines_[static_cast<std::uint32_t>(std::countr_zero(active_))].step_number();
  }

  [[nodiscard]] error explained() const {
    return world_->explain(context_.transport.fault(), what_, context_.sequence, step_number());
  }

  /// The deadline has passed: whom did the segments wait for?
  [[nodiscard]] error late() const {
    fault why{failure::deadline, no_rank, context_.rank};
    for (std::uint32_t slots = active_; slots != 0 && why.culprit == no_rank; slots &= slots - 1) {
      why.culprit = machines_[static_cast<std::uint32_t>(std::countr_zero(slots))].awaits();
    }
    context_.transport.poison(why);
    return explained();
  }

  /// Ends the operation with an error: every rank shall know, and nobody read this memory any more.
  void abandon(error const& e) {
    abandon(std::make_exception_ptr(e),
            {e.kind(), e.at_fault().empty() ? no_rank : e.at_fault().front(), context_.rank}, e.what());
  }
  void abandon(std::exception_ptr why, fault const& told, char const* text) {
    error_ = std::move(why);
    context_.transport.poison(told);
    context_.transport.quiesce();
    world_->recent().finish(context_.sequence, recorder::state::failed);
    context_.note(event_kind::fail, step_number(), no_rank, 0, text);
    ended = true;
  }

  /// Ends it with the exception that is being handled: the transport's, or anything that a user's
  /// reduction throws, which for the others is an operation that this rank gave up.
  void abandon_by_exception() {
    try {
      throw;
    } catch (error const& e) {
      abandon(placed(e));
    } catch (...) {
      abandon(std::current_exception(), {failure::cancelled, context_.rank, context_.rank}, "an exception");
    }
  }

  /// A transport does not know the operation that it found something wrong about.
  [[nodiscard]] error placed(error const& e) const {
    return world_->report(e.kind(), e.what(), what_, context_.sequence, step_number(), e.at_fault());
  }

  void throw_failure() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

  // --- as a pending operation

  bool advance_quietly() {
    if (ended) {
      return true;
    }
    try {
      if (advance()) {
        complete();
        ended = true;
      } else if (context_.transport.fault()) {
        abandon(explained());
      }
    } catch (...) {
      abandon_by_exception();
    }
    return ended;
  }

  /// For callers that test again and again: everything moves on, and every few milliseconds somebody
  /// looks whether that is still worth while.
  void poll() {
    world_->poll();
    if (ended) {
      return;
    }
    const time_point now = context_.transport.now();
    watch(now);
    if (now - looked_ >= between_looks) {
      looked_ = now;
      context_.transport.look();
      check_deadline();
    }
  }

  /// For callers that never wait: ends the operation when its time is up.
  void check_deadline() {
    const time_point now = context_.transport.now();
    watch(now);
    inquire_quietly();
    if (!advance_quietly() && limit_ >= duration::zero() && now - watched_since_ >= limit_) {
      abandon(late());
    }
    if (ended) {
      world_->operations().erase(*this);
    }
  }

  /// The deadline counts from when somebody first asked for the result.
  void watch(time_point now) {
    if (!std::exchange(watched_, true)) {
      watched_since_ = now;
      looked_ = now;
    }
  }

  void inquire_quietly() {
    try {
      if (!ended) {
        inquire();
      }
    } catch (...) {
      abandon_by_exception();
    }
  }

  [[nodiscard]] duration remaining(time_point now) const noexcept {
    const duration left = watched_since_ + limit_ - now;
    return left < duration::zero() ? duration::zero() : left;
  }

  /// Waits for as long as the caller likes (a negative limit is none), and the deadline allows.
  bool wait_ended(duration limit) {
    const time_point now = context_.transport.now();
    watch(now);
    const duration left = limit_ < duration::zero() ? limit_ : remaining(now);
    bool const deadline_first = limit < duration::zero() || (left >= duration::zero() && left <= limit);
    const waited how = tutti::wait(
        *world_, [this] { return advance_quietly(); }, [this] { inquire_quietly(); }, deadline_first ? left : limit);
    if (how == waited::limit && !deadline_first) {
      return false;
    }
    if (how != waited::done && !ended) {
      abandon(how == waited::limit ? late() : explained());
    }
    world_->operations().erase(*this);
    return true;
  }

  void give_up() {
    if (!ended && !advance_quietly()) {
      const fault why{failure::cancelled, context_.rank, context_.rank};
      context_.transport.poison(why);
      abandon(world_->explain(why, what_, context_.sequence, step_number()));
    }
    world_->operations().erase(*this);
  }

  Communicator* world_;
  context context_;
  std::size_t count_ = 0;
  std::uint32_t blocks_ = 1;
  std::uint32_t segments_ = 1;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t active_ = 0;  ///< which machines run, a bit for each lane
  std::uint64_t base_ = 0;    ///< the stream of the first segment
  bool watched_ = false;
  time_point watched_since_{};
  time_point looked_{};
  duration limit_{};
  std::size_t scratch_capacity_ = 0;
  owned_array<std::byte> scratch_;
  std::exception_ptr error_;  ///< what it ended with, if it failed
  call what_;
  std::array<machine<context>, is_transfer ? 1 : collective_lanes> machines_;
};

}  // namespace tutti
