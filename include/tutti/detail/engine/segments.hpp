// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/flow_numbers.hpp>
#include <tutti/detail/engine/engine_memory.hpp>
#include <tutti/detail/engine/gate.hpp>
#include <tutti/detail/engine/machine.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>

#include <array>
#include <bit>
#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The vector of one operation cut into segments, several of them in flight, each a machine of its own.
/// Reused from call to call, so that a prepared operation allocates nothing. Refers to what the communicator has, which
/// must outlive it.
///
/// `Transfers`: an operation is one message from one rank to another, and not of all ranks.
template <class Communicator, bool Transfers>
class segments {
 public:
  /// Whether operations are also of a device, whose memory the host does not see.
  static constexpr bool is_gated = stages_devices<typename Communicator::transport_type> && !Transfers;
  using gate = typename gate_of<typename Communicator::transport_type>::type;

  /// `what` is what the operation tells that it is doing, and `number` which one it is, from `take_place` on.
  segments(Communicator& world, call const& what, operation_number& number, schedule_view const& schedule,
           payload const& elements)
      : flows_(access::state(world).flows),
        context_{world.transport(), world.trace(), world.extent(), world.rank(), schedule, elements, {}, number},
        what_(what) {
    if constexpr (Transfers) {
      sends_ = &access::state(world).sends;
      receives_ = &access::state(world).receives;
    }
  }

  /// Elements are of `bytes` bytes from now on: of an operation that moves them.
  [[gnu::always_inline]] void set_element_bytes(std::size_t bytes) noexcept {
    context_.payload.set_element_bytes(bytes);
  }

  /// From now on the schedule has this many steps and blocks. `stays`: it is the same each time, until this is called
  /// again.
  [[gnu::always_inline]] void set_schedule(std::uint32_t steps, std::uint32_t blocks, bool stays) {
    schedule_view& s = context_.schedule;
    s.steps = steps;
    s.blocks = blocks;
    s.first_known = false;
    if (stays && steps != 0) {
      context_.step_at(0, s.first);
      s.first_known = true;
    }
  }

  /// What this rank does with helpers in what is prepared next. @pre it outlives that
  void set_helpers(std::span<helper_share const> all) noexcept { context_.schedule.helpers = all; }

  /// What comes next is of a device, whose memory is copied to the host's and back: by its gate, in as many segments as
  /// that says, each of which has memory of its own. @pre it outlives that
  void set_gate(gate& g) noexcept
    requires is_gated
  {
    gated_.by = &g;
  }

  /// Which message it is: of a transfer.
  [[gnu::always_inline]] void set_pair(rank_type from, rank_type to) noexcept
    requires Transfers
  {
    operation_number& number = context_.number;
    if (number.from != from || number.to != to) {
      number.from = from;
      number.to = to;
    }
  }

  /// Cuts the vector. `memory.work` may be left empty: then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error
  [[gnu::always_inline]] void prepare(std::size_t segment_bytes, memories const& memory, std::size_t count) {
    context_.memories = memory;
    count_ = count;
    segments_ = segment_bytes == 0 || Transfers ? 1 : segment_count(segment_bytes);
    if (memory.work == nullptr && !has_gate()) {
      provide_work();
    }
    if constexpr (is_gated) {
      segments_ = has_gate() ? gated_.by->segments() : segments_;
    }
    begun_ = 0;
    done_ = 0;
    active_ = 0;
  }

  /// Takes the operation's place in the order of the communicator.
  [[gnu::always_inline]] void take_place() {
    if constexpr (Transfers) {
      base_ = numbers().reserve(other());
      context_.number.sequence = base_;
    } else {
      base_ = flows_.reserve(segments_);
      context_.number.sequence = flows_.count_operation();
    }
  }

  /// Tells the tracer, if there is one that listens, what starts where: the first of its flows, or the number of
  /// the message among those of the pair.
  void note_start() {
    if (!listens(context_.trace)) {
      return;
    }
    event e{event_kind::start, context_.transport.now(), context_.number, {}, 0, no_rank, count_, {}};
    if constexpr (Transfers) {
      e.on = {transfer_lane, static_cast<std::uint32_t>(base_)};
      e.peer = other();
    } else {
      e.on = flow_numbers::flow_of(base_);
    }
    auto const text = describe(what_, context_.number);
    e.text = text;
    context_.trace.record(e);
  }

  /// Goes as far as it can; true when the whole operation is complete.
  /// @throws error as a transport reports it
  bool advance();

  /// Asks whether those that are waited for are at the same operation.
  TUTTI_COLD void inquire();
  /// Says to ranks that ask which ranks they wait for.
  TUTTI_COLD void say(bool blocks);

  /// Changes as often as something is moved through memory. Over other transports there is nothing to stay awake for:
  /// there, messages go through the system anyway.
  [[nodiscard]] std::uint64_t progress() const noexcept {
    std::uint64_t sum = 0;
    if constexpr (shares_memory<typename Communicator::transport_type>) {
      sum = std::uint64_t{done_} << 32;
      for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
        sum += machines_[static_cast<std::uint32_t>(std::countr_zero(busy))].moved();
      }
    }
    return sum;
  }

  /// The rank that one of them waits for, if any; and the flow of one that is under way, or would be next.
  [[nodiscard]] rank_type awaits() const noexcept {
    rank_type peer = no_rank;
    each_that_waits([&](auto const& m) { peer = peer == no_rank ? waited_for(m) : peer; });
    return peer;
  }
  [[nodiscard]] flow current_flow() const noexcept {
    if constexpr (Transfers) {
      return transfer();
    } else {
      return active_ == 0 ? flow_numbers::flow_of(base_ + begun_)
                          : machines_[static_cast<std::uint32_t>(std::countr_zero(active_))].current_flow();
    }
  }

  /// Whether it waits for its turn: for operations of the same queue that were started before.
  [[nodiscard]] bool is_queued() const noexcept { return active_ == 0 && begun_ != segments_; }
  /// All collective operations are of one queue, and the messages from one rank to another of one each.
  [[nodiscard]] std::uint64_t queue() const noexcept {
    if constexpr (Transfers) {
      return std::uint64_t{context_.number.from} << 32 | context_.number.to;
    } else {
      return operation_list::collective;
    }
  }
  /// The lanes that it holds and waits for.
  [[nodiscard]] lane_use lanes() const noexcept
    requires(!Transfers)
  {
    std::uint32_t const left = segments_ - begun_;
    auto const first = static_cast<std::uint32_t>((base_ + begun_) % collective_lanes);
    std::uint32_t const next = left < collective_lanes ? (1U << left) - 1 : all_lanes;
    return {.held = active_ | ((next << first | next >> (collective_lanes - first)) & all_lanes),
            .awaited = is_queued() ? 1U << first : 0};
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept {
    return active_ == 0 ? 0 : machines_[static_cast<std::uint32_t>(std::countr_zero(active_))].step_number();
  }

 private:
  template <class F>
  void each_that_waits(F f) const {
    for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
      auto const& m = machines_[static_cast<std::uint32_t>(std::countr_zero(busy))];
      if (m.awaits() != no_rank) {
        f(m);
      }
    }
  }

  /// The rank that a machine waits for; where that waits for a helper, the one that the helper waits for, if known.
  [[nodiscard]] rank_type waited_for(machine<Communicator> const& m) const noexcept {
    rank_type const peer = m.awaits();
    if constexpr (helps<typename Communicator::transport_type>) {
      return peer != no_rank && peer >= rank_type{context_.extent} ? context_.transport.missing(peer, m.current_flow())
                                                                   : peer;
    } else {
      return peer;
    }
  }

  [[nodiscard]] TUTTI_COLD std::uint32_t segment_count(std::size_t segment_bytes) const;
  TUTTI_COLD void provide_work();

  /// In numbers, and then at once: a slice that was put together in memory would be copied as a whole, for which a
  /// processor waits until its parts have reached the cache.
  [[nodiscard, gnu::always_inline]] slice cut(std::uint32_t segment) const noexcept {
    std::size_t first = 0;
    std::size_t count = count_;
    std::uint32_t part = 0;
    std::uint32_t parts = 1;
    if constexpr (is_gated) {
      if (has_gate()) {
        return slice::of_vector(0, gated_.by->count(segment), context_.schedule.blocks);
      }
    }
    if (context_.schedule.blocks_have_owners) {
      part = segment;
      parts = segments_;
    } else if (segments_ != 1) {
      first = block_begin(count_, segments_, segment);
      count = block_size(count_, segments_, segment);
    }
    return {first, count, context_.schedule.blocks, part, parts};
  }

  [[nodiscard]] bool may_begin() {
    if constexpr (Transfers) {
      return numbers().may_begin(other(), base_);
    } else {
      if constexpr (is_gated) {
        if (gated_.by != nullptr && !gated_.by->may_begin(begun_)) {
          return false;
        }
      }
      return flows_.may_begin(base_ + begun_);
    }
  }
  [[gnu::always_inline]] void begin() {
    if constexpr (Transfers) {
      active_ = 1;
      machines_[0].start(context_, cut(0), transfer());
    } else {
      const flow s = flow_numbers::flow_of(base_ + begun_);
      active_ |= 1U << s.lane;
      context_.transport.begin(s, what_);
      if constexpr (is_gated) {
        gated_.number[s.lane] = begun_;
        gated_.at[s.lane] = has_gate() ? gated_.by->memory(begun_) : context_.memories;
      }
      take_memory(s.lane);
      machines_[s.lane].start(context_, cut(begun_), s);
    }
    ++begun_;
  }
  [[gnu::always_inline]] void end(std::uint32_t slot) {
    active_ &= ~(1U << slot);
    ++done_;
    if constexpr (Transfers) {
      numbers().end(other());
    } else {
      if constexpr (is_gated) {
        if (has_gate()) {
          gated_.by->has_ended(gated_.number[slot]);
        }
      }
      context_.transport.end(machines_[slot].current_flow());
      flows_.end(slot);
    }
  }

  [[nodiscard]] bool has_gate() const noexcept {
    if constexpr (is_gated) {
      return gated_.by != nullptr;
    } else {
      return false;
    }
  }
  /// A segment with a gate works in memory of its own.
  [[gnu::always_inline]] void take_memory([[maybe_unused]] std::uint32_t slot) noexcept {
    if constexpr (is_gated) {
      context_.memories = gated_.at[slot];
    }
  }

  [[nodiscard]] flow transfer() const noexcept
    requires Transfers
  {
    return {transfer_lane, what_.fingerprint()};
  }
  [[nodiscard]] rank_type other() const noexcept
    requires Transfers
  {
    return context_.rank == context_.number.from ? context_.number.to : context_.number.from;
  }
  [[nodiscard]] transfer_numbers& numbers() noexcept
    requires Transfers
  {
    return context_.rank == context_.number.from ? *sends_ : *receives_;
  }

  static constexpr std::uint32_t all_lanes = (1U << collective_lanes) - 1;

  flow_numbers& flows_;
  transfer_numbers* sends_ = nullptr;  ///< of transfers alone
  transfer_numbers* receives_ = nullptr;
  run_context<Communicator> context_;
  std::size_t count_ = 0;
  std::uint32_t segments_ = 1;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t active_ = 0;  ///< which machines run, a bit for each lane
  std::uint64_t base_ = 0;    ///< the flow of the first segment
  engine_memory<typename Communicator::transport_type> scratch_;
  call const& what_;
  [[no_unique_address]] std::conditional_t<is_gated, gated_segments<gate>, no_gated_segments> gated_;
  std::array<machine<Communicator>, Transfers ? 1 : collective_lanes> machines_;
};

// Defined here without `inline`: units for which the engine is compiled elsewhere do not compile it again.

template <class Communicator, bool Transfers>
bool segments<Communicator, Transfers>::advance() {
  for (;;) {
    while (begun_ != segments_ && may_begin()) {
      begin();
    }
    std::uint32_t const before = done_;
    for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
      auto const slot = static_cast<std::uint32_t>(std::countr_zero(busy));
      take_memory(slot);
      if (machines_[slot].advance(context_)) {
        end(slot);
      }
    }
    if (done_ == before || begun_ == segments_) {  // no lane has become free for a segment that waits for one
      return done_ == segments_;
    }
  }
}

template <class Communicator, bool Transfers>
void segments<Communicator, Transfers>::inquire() {
  if constexpr (inquires<typename Communicator::transport_type>) {
    each_that_waits([&](auto const& m) {
      if (rank_type const peer = waited_for(m); peer != no_rank) {
        context_.transport.inquire(peer, m.current_flow());
      }
    });
  }
}

template <class Communicator, bool Transfers>
void segments<Communicator, Transfers>::say(bool blocks) {
  if constexpr (answers<typename Communicator::transport_type>) {
    each_that_waits([&](auto const& m) {
      context_.transport.say({.peer = waited_for(m),
                              .on = m.current_flow(),
                              .moved = static_cast<std::uint32_t>(m.moved()) + m.step_number(),
                              .blocks = blocks,
                              .what = what_});
    });
  }
}

template <class Communicator, bool Transfers>
std::uint32_t segments<Communicator, Transfers>::segment_count(std::size_t segment_bytes) const {
  const std::size_t size = context_.payload.size_of(memory::output);
  const std::size_t longest =
      context_.schedule.blocks_have_owners ? block_size(count_, context_.schedule.blocks, 0) : count_;
  const std::size_t per_segment = segment_bytes < size ? 1 : segment_bytes / size;
  const std::size_t cuts = longest == 0 ? 1 : (longest - 1) / per_segment + 1;
  expects(cuts <= UINT32_MAX, "segments of ", segment_bytes, " bytes would be ", cuts,
          ", more than 2^32; set segment(bytes) higher");
  return static_cast<std::uint32_t>(cuts);
}

template <class Communicator, bool Transfers>
void segments<Communicator, Transfers>::provide_work() {
  bool used = false;
  for (std::uint32_t i = 0; i < context_.schedule.steps && !used; ++i) {
    step place;
    step const& st = context_.step_at(i, place);
    used = (st.sends() && st.send.memory == memory::work) || st.receive.memory == memory::work ||
           (st.how != action::copy && st.local == memory::work);
  }
  if (!used) {
    return;
  }
  scratch_.reserve(context_.transport, count_ * context_.payload.size_of(memory::work));
  context_.memories.work = scratch_.get();
}

}  // namespace tutti::detail::engine
