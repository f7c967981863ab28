// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/flow_numbers.hpp>
#include <tutti/detail/engine/engine_memory.hpp>
#include <tutti/detail/engine/gate.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/detail/engine/segment_runner.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>

#include <array>
#include <bit>
#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The vector of one operation, cut into segments. Each segment is a flow, and up to `collective_lanes` of them are in
/// flight, each run by the runner of its lane. Reused from call to call, so that a prepared operation allocates
/// nothing. Refers to parts of the communicator, which must outlive it.
///
/// Two operations in a row, of 2 and 7 segments, on 8 lanes:
///
///     operation        A  A  B  B  B  B  B  B  B
///     segment          0  1  0  1  2  3  4  5  6
///     flow             0  1  2  3  4  5  6  7  8     equal on all ranks, which start operations in one order
///     lane, runner     0  1  2  3  4  5  6  7  0     flow % 8
///
/// A lane carries one flow at a time: flow 8 begins when flow 0 has ended on this rank. Lanes never wait for each
/// other, so the oldest flow can always progress. Messages are told apart by flow, peers and order.
///
/// `Transfers`: operations are single messages between two ranks, on a lane of their own.
template <class Communicator, bool Transfers>
class segments {
 public:
  /// True if operations may also be a device's, with memory that the host does not see.
  static constexpr bool is_gated = stages_devices<typename Communicator::transport_type> && !Transfers;
  using gate = typename gate_of<typename Communicator::transport_type>::type;

  /// @param call the call that this operation announces to its peers
  /// @param number identity of the operation, valid from `take_numbers` on
  segments(Communicator& world, tutti::call const& call, operation_number& number, schedule_view const& schedule,
           payload const& elements)
      : flows_(access::state(world).flows),
        context_{world.transport(), world.trace(), world.extent(), world.rank(), schedule, elements, {}, number},
        call_(call) {
    if constexpr (Transfers) {
      sends_ = &access::state(world).sends;
      receives_ = &access::state(world).receives;
    }
  }

  /// Sets the element size, for operations that only move elements.
  [[gnu::always_inline]] void set_element_bytes(std::size_t bytes) noexcept {
    context_.payload.set_element_bytes(bytes);
  }

  /// Sets the reduction, where it is known at run time.
  void set_payload(payload const& elements) noexcept { context_.payload = elements; }

  /// Sets the size of the schedule. `is_constant`: every operation until the next call of this has the same steps.
  /// @throws the exceptions of the topology
  [[gnu::always_inline]] void set_schedule(std::uint32_t steps, std::uint32_t blocks, bool is_constant) {
    schedule_view& s = context_.schedule;
    s.steps = steps;
    s.blocks = blocks;
    s.has_first = false;
    if (is_constant && steps != 0) {
      context_.step_at(0, s.first);
      s.has_first = true;
    }
  }

  /// Sets this rank's parts at in-network aggregators for the operations prepared next. @pre `shares` outlives them
  void set_aggregators(std::span<aggregator_share const> shares) noexcept { context_.schedule.aggregators = shares; }

  /// Makes the next operations a device's: its gate copies segments to host memory and back, and gives their number and
  /// the memory of each. @pre `g` outlives them
  void set_gate(gate& g) noexcept
    requires is_gated
  {
    gate_state_.gate = &g;
  }

  /// Sets sender and receiver of the next message.
  [[gnu::always_inline]] void set_pair(rank_type sender, rank_type receiver) noexcept
    requires Transfers
  {
    operation_number& number = context_.number;
    if (number.sender != sender || number.receiver != receiver) {
      number.sender = sender;
      number.receiver = receiver;
    }
  }

  /// Cuts the vector. An empty `memory.work` is allocated if the schedule uses it. `begins`: the begins of the blocks
  /// of a partition, and the end of the last; null: they are equal. @pre `begins` outlives the operation
  /// @throws std::bad_alloc, precondition_error
  [[gnu::always_inline]] void prepare(std::size_t segment_bytes, memories const& memory, std::size_t count,
                                      std::size_t const* begins = nullptr) {
    context_.memories = memory;
    count_ = count;
    begins_ = begins;
    segments_ = segment_bytes == 0 || Transfers ? 1 : segment_count(segment_bytes);
    if (memory.work == nullptr && !has_gate()) {
      provide_work();
    }
    if constexpr (is_gated) {
      segments_ = has_gate() ? gate_state_.gate->segments() : segments_;
    }
    begun_count_ = 0;
    finished_count_ = 0;
    active_ = 0;
  }

  /// Takes the operation's flow and sequence numbers, which are equal on all ranks.
  [[gnu::always_inline]] void take_numbers() {
    if constexpr (Transfers) {
      base_ = numbers().reserve(partner());
      context_.number.sequence = base_;
    } else {
      base_ = flows_.reserve(segments_);
      context_.number.sequence = flows_.count_operation();
    }
  }

  /// Traces the start of `c` with the operation's first flow, or with the number of the message among those of its
  /// pair. @throws the exceptions of the tracer
  void note_start(labelled_call const& c) {
    if (!listens(context_.trace)) {
      return;
    }
    event e{event_kind::start, context_.transport.now(), context_.number, {}, 0, no_rank, count_, {}};
    if constexpr (Transfers) {
      e.flow = {transfer_lane, static_cast<std::uint32_t>(base_)};
      e.peer = partner();
    } else {
      e.flow = flow_numbers::flow_of(base_);
    }
    auto const text = describe(c, context_.number);
    e.text = text;
    context_.trace.record(e);
  }

  /// Begins segments whose lanes are free and advances those under way; returns true when the operation is complete.
  /// @throws the exceptions of transport, topology, reduction and tracer; error and precondition_error as
  /// `segment_runner::advance`
  bool advance();

  /// Asks the transport if the awaited ranks are in the same call. @throws error (failure::mismatch)
  TUTTI_COLD void detect_mismatch();
  /// Answers ranks that ask which ranks this one waits for, and returns the first of the waits. `blocks`: the program
  /// waits for this operation.
  TUTTI_COLD wait_report publish_wait(bool blocks);

  /// A number that changes with progress, over transports through memory. Constant over other transports: their
  /// messages go through the system, so staying awake saves nothing.
  [[nodiscard]] std::uint64_t progress() const noexcept {
    std::uint64_t sum = 0;
    if constexpr (shares_memory<typename Communicator::transport_type>) {
      sum = std::uint64_t{finished_count_} << 32;
      for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
        sum += runners_[static_cast<std::uint32_t>(std::countr_zero(busy))].progress_count();
      }
    }
    return sum;
  }

  /// A rank that a segment waits for, or no_rank.
  [[nodiscard]] rank_type awaits() const noexcept {
    rank_type peer = no_rank;
    for_each_waiting([&](auto const& runner) { peer = peer == no_rank ? awaited_rank(runner) : peer; });
    return peer;
  }
  [[nodiscard]] flow current_flow() const noexcept {
    if constexpr (Transfers) {
      return transfer();
    } else {
      return active_ == 0 ? flow_numbers::flow_of(base_ + begun_count_)
                          : runners_[static_cast<std::uint32_t>(std::countr_zero(active_))].current_flow();
    }
  }

  /// True if no segment is running and some have not begun: they wait for a lane, or for the gate.
  [[nodiscard]] bool is_queued() const noexcept { return active_ == 0 && begun_count_ != segments_; }
  /// True if the next segment may begin.
  [[nodiscard]] bool may_begin() {
    if constexpr (Transfers) {
      return numbers().may_begin(partner(), base_);
    } else {
      if constexpr (is_gated) {
        if (gate_state_.gate != nullptr && !gate_state_.gate->may_begin(begun_count_)) {
          return false;
        }
      }
      return flows_.may_begin(base_ + begun_count_);
    }
  }
  /// The queue whose operations begin in order of starting: one for all collectives, one for each pair of sender and
  /// receiver.
  [[nodiscard]] std::uint64_t queue() const noexcept {
    if constexpr (Transfers) {
      return std::uint64_t{context_.number.sender} << 32 | context_.number.receiver;
    } else {
      return operation_list::collective;
    }
  }
  /// The lanes of unfinished segments, and the lane without which none can begin.
  [[nodiscard]] lane_use lanes() const noexcept
    requires(!Transfers)
  {
    std::uint32_t const left = segments_ - begun_count_;
    auto const first = static_cast<std::uint32_t>((base_ + begun_count_) % collective_lanes);
    std::uint32_t const next = left < collective_lanes ? (1U << left) - 1 : all_lanes;
    return {.flow_lanes = active_ | ((next << first | next >> (collective_lanes - first)) & all_lanes),
            .start_lane = is_queued() ? 1U << first : 0};
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept {
    return active_ == 0 ? 0 : runners_[static_cast<std::uint32_t>(std::countr_zero(active_))].step_number();
  }

 private:
  template <class F>
  void for_each_waiting(F f) const {
    for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
      auto const& runner = runners_[static_cast<std::uint32_t>(std::countr_zero(busy))];
      if (runner.awaits() != no_rank) {
        f(runner);
      }
    }
  }

  /// The rank that a runner waits for. For an in-network aggregator: a rank that this waits for, if known.
  [[nodiscard]] rank_type awaited_rank(segment_runner<Communicator> const& runner) const noexcept {
    rank_type const peer = runner.awaits();
    if constexpr (aggregates<typename Communicator::transport_type>) {
      return peer != no_rank && peer >= rank_type{context_.extent}
                 ? context_.transport.missing(peer, runner.current_flow())
                 : peer;
    } else {
      return peer;
    }
  }

  /// @throws precondition_error if there would be more segments than a number holds
  [[nodiscard]] TUTTI_COLD std::uint32_t segment_count(std::size_t segment_bytes) const;
  /// Allocates `work` if the schedule uses it. @throws std::bad_alloc, precondition_error
  TUTTI_COLD void provide_work();

  /// The elements of a segment. Built in one expression: copying a slice just written in parts stalls the processor.
  [[nodiscard, gnu::always_inline]] slice slice_of(std::uint32_t segment) const noexcept {
    std::size_t first = 0;
    std::size_t count = count_;
    std::uint32_t part = 0;
    std::uint32_t parts = 1;
    if constexpr (is_gated) {
      if (has_gate()) {
        return slice::of_vector(0, gate_state_.gate->count(segment), context_.schedule.blocks);
      }
    }
    if (context_.schedule.blocks_have_owners) {
      part = segment;
      parts = segments_;
    } else if (segments_ != 1) {
      first = block_begin(count_, segments_, segment);
      count = block_size(count_, segments_, segment);
    }
    return {first, count, context_.schedule.blocks, part, parts, begins_};
  }

  /// Begins the next segment.
  [[gnu::always_inline]] void begin_segment() {
    if constexpr (Transfers) {
      active_ = 1;
      runners_[0].start(context_, slice_of(0), transfer());
    } else {
      const flow s = flow_numbers::flow_of(base_ + begun_count_);
      active_ |= 1U << s.lane;
      context_.transport.begin(s, call_);
      if constexpr (is_gated) {
        gate_state_.number[s.lane] = begun_count_;
        gate_state_.memory[s.lane] = has_gate() ? gate_state_.gate->memory(begun_count_) : context_.memories;
      }
      take_memory(s.lane);
      runners_[s.lane].start(context_, slice_of(begun_count_), s);
    }
    ++begun_count_;
  }
  /// Ends the segment on this lane, which is complete.
  [[gnu::always_inline]] void end_segment(std::uint32_t lane) {
    active_ &= ~(1U << lane);
    ++finished_count_;
    if constexpr (Transfers) {
      numbers().end(partner());
    } else {
      if constexpr (is_gated) {
        if (has_gate()) {
          gate_state_.gate->has_ended(gate_state_.number[lane]);
        }
      }
      context_.transport.end(runners_[lane].current_flow());
      flows_.end(lane);
    }
  }

  [[nodiscard]] bool has_gate() const noexcept {
    if constexpr (is_gated) {
      return gate_state_.gate != nullptr;
    } else {
      return false;
    }
  }
  /// Selects the memory of the segment on this lane: with a gate, each has its own.
  [[gnu::always_inline]] void take_memory([[maybe_unused]] std::uint32_t lane) noexcept {
    if constexpr (is_gated) {
      context_.memories = gate_state_.memory[lane];
    }
  }

  [[nodiscard]] flow transfer() const noexcept
    requires Transfers
  {
    return {transfer_lane, call_.fingerprint()};
  }
  [[nodiscard]] rank_type partner() const noexcept
    requires Transfers
  {
    return context_.rank == context_.number.sender ? context_.number.receiver : context_.number.sender;
  }
  [[nodiscard]] transfer_numbers& numbers() noexcept
    requires Transfers
  {
    return context_.rank == context_.number.sender ? *sends_ : *receives_;
  }

  static constexpr std::uint32_t all_lanes = (1U << collective_lanes) - 1;

  flow_numbers& flows_;
  transfer_numbers* sends_ = nullptr;  ///< null but for transfers
  transfer_numbers* receives_ = nullptr;
  run_context<Communicator> context_;
  std::size_t count_ = 0;
  std::size_t const* begins_ = nullptr;  ///< the begins of blocks, and the end of the last; null: they are equal
  std::uint32_t segments_ = 1;
  std::uint32_t begun_count_ = 0;
  std::uint32_t finished_count_ = 0;
  std::uint32_t active_ = 0;  ///< lanes whose runner is active, one bit each
  std::uint64_t base_ = 0;    ///< flow of the first segment
  engine_memory<typename Communicator::transport_type> scratch_;
  call const& call_;
  [[no_unique_address]] std::conditional_t<is_gated, gate_state<gate>, no_gate_state> gate_state_;
  std::array<segment_runner<Communicator>, Transfers ? 1 : collective_lanes> runners_;
};

// Not `inline` (compilers.md: Members defined out of class).

template <class Communicator, bool Transfers>
bool segments<Communicator, Transfers>::advance() {
  for (;;) {
    while (begun_count_ != segments_ && may_begin()) {
      begin_segment();
    }
    std::uint32_t const previous_count = finished_count_;
    for (std::uint32_t busy = active_; busy != 0; busy &= busy - 1) {
      auto const lane = static_cast<std::uint32_t>(std::countr_zero(busy));
      take_memory(lane);
      if (runners_[lane].advance(context_)) {
        end_segment(lane);
      }
    }
    if (finished_count_ == previous_count || begun_count_ == segments_) {  // no lane was freed for another segment
      return finished_count_ == segments_;
    }
  }
}

template <class Communicator, bool Transfers>
void segments<Communicator, Transfers>::detect_mismatch() {
  if constexpr (detects_mismatch<typename Communicator::transport_type>) {
    for_each_waiting([&](auto const& runner) {
      if (rank_type const peer = awaited_rank(runner); peer != no_rank) {
        context_.transport.detect_mismatch(peer, runner.current_flow());
      }
    });
  }
}

template <class Communicator, bool Transfers>
wait_report segments<Communicator, Transfers>::publish_wait(bool blocks) {
  wait_report first;
  for_each_waiting([&](auto const& runner) {
    wait_report const report{.peer = awaited_rank(runner),
                             .flow = runner.current_flow(),
                             .progress = static_cast<std::uint32_t>(runner.progress_count()) + runner.step_number(),
                             .blocks_program = blocks,
                             .call = call_};
    if constexpr (reports_waits<typename Communicator::transport_type>) {
      context_.transport.publish_wait(report);
    }
    first = first.peer == no_rank ? report : first;
  });
  return first;
}

template <class Communicator, bool Transfers>
std::uint32_t segments<Communicator, Transfers>::segment_count(std::size_t segment_bytes) const {
  const std::size_t size = context_.payload.size_of(memory::output);
  std::size_t longest = context_.schedule.blocks_have_owners ? block_size(count_, context_.schedule.blocks, 0) : count_;
  for (std::uint32_t b = 0; begins_ != nullptr && b < context_.schedule.blocks; ++b) {
    std::size_t const length = begins_[b + 1] - begins_[b];
    longest = longest < length ? length : longest;
  }
  const std::size_t per_segment = segment_bytes < size ? 1 : segment_bytes / size;
  const std::size_t cuts = longest == 0 ? 1 : (longest - 1) / per_segment + 1;
  expects(cuts <= UINT32_MAX, "segments of ", segment_bytes, " bytes would cut the vector into ", cuts,
          " parts, more than 2^32; set segment(bytes) higher");
  return static_cast<std::uint32_t>(cuts);
}

template <class Communicator, bool Transfers>
void segments<Communicator, Transfers>::provide_work() {
  bool uses_work = false;
  for (std::uint32_t i = 0; i < context_.schedule.steps && !uses_work; ++i) {
    step storage;
    step const& st = context_.step_at(i, storage);
    uses_work = (st.sends() && st.send.memory == memory::work) || st.receive.memory == memory::work ||
                (st.action != action::copy && st.local_memory == memory::work);
  }
  if (!uses_work) {
    return;
  }
  std::size_t const size = context_.payload.size_of(memory::work);
  expects(count_ <= SIZE_MAX / size, "the schedule needs an accumulator of ", size, " bytes for each of ", count_,
          " elements, more than any memory; run the operation on parts of the vector");
  scratch_.reserve(context_.transport, count_ * size);
  context_.memories.work = scratch_.get();
}

}  // namespace tutti::detail::engine
