// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/engine/segments.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The part of an operation that depends on its communicator: runs the segments and completes it. Compiled once for
/// each communicator type, and again for transfers. Waiting and failing are in the untyped base class.
///
/// No thread belongs to an operation. The thread that is inside a call on the communicator (`test`, `wait`, `poll`; it
/// may be an event loop, or a `progress_thread` that the program has made) advances all operations started on it. A
/// call from another thread takes the communicator over first.
template <class Communicator, bool Transfers>
class segmented_operation : public untyped_operation {
  using transport_type = typename Communicator::transport_type;

 public:
  [[nodiscard]] Communicator& world() noexcept { return world_; }

  /// Runs the operation to its end.
  /// @throws error (failure::deadline if it takes longer than `limit` from now), and exceptions of the reduction. After
  /// either the epoch of the communicator has failed, and no peer reads or writes this rank's memory
  void finish(duration limit);

  /// Adds the operation to the started ones, which every call on the communicator advances.
  void enlist() noexcept {
    note_lanes();
    if constexpr (Transfers) {
      state_.operations.push_back(*this, segments_.may_begin());
    } else {
      state_.operations.push_back(*this);
    }
  }

 protected:
  TUTTI_COLD segmented_operation(Communicator& world, schedule_view const& schedule, payload const& elements,
                                 operation_pool* pool);
  TUTTI_COLD ~segmented_operation();

  /// Takes the operation's numbers, by which all ranks order the operations of the communicator. @throws exceptions of
  /// the tracer. @pre its segments are prepared
  [[gnu::always_inline]] void take_numbers() {
    open();
    segments_.take_numbers();
    if constexpr (Transfers) {
      queue_ = segments_.queue();
    }
    recorded_at_ = state_.recent.start(call_, number_);
    segments_.note_start(call_);
  }

 private:
  static segmented_operation& self(untyped_operation& base) noexcept { return static_cast<segmented_operation&>(base); }
  static segmented_operation const& self(untyped_operation const& base) noexcept {
    return static_cast<segmented_operation const&>(base);
  }

  /// Advances the operation, and ends it if it is complete or has failed. Returns true if it has ended.
  bool advance_and_end();
  /// Advances the segments; returns true when all are complete. @throws exceptions of transport and reduction
  bool advance_segments();
  void note_lanes() noexcept {
    if constexpr (!Transfers) {
      lanes_ = segments_.lanes();
    }
  }

  /// Waits until the operation ends, after a first attempt to advance it. @throws as finish
  void wait_for_rest(duration limit);
  /// Completes the operation if all segments have ended well. @throws error if not; the operation has ended then
  [[gnu::always_inline]] void complete_or_throw(wait_outcome outcome) {
    if (outcome != wait_outcome::complete || has_unsafe_results()) [[unlikely]] {
      throw_fault();
    }
    complete();
  }
  /// True if results may be wrong, although all segments ended: after a fault, ranks may reuse memory that this one
  /// still reads.
  [[nodiscard]] bool has_unsafe_results() const noexcept {
    if constexpr (shares_memory<transport_type>) {
      return static_cast<bool>(transport_.fault());
    }
    return false;
  }
  /// Reports success to flight recorder and trace. Ends nothing by itself: a blocking call returns next.
  void complete() {
    state_.recent.finish(recorded_at_, recorder::state::completed);
    tutti::record(trace_,
                  [&] { return event{event_kind::complete, transport_.now(), number_, {}, 0, no_rank, 0, {}}; });
  }

  Communicator world_;
  transport_type& transport_;  ///< transport of `world_`
  typename Communicator::trace_type& trace_;

 protected:
  segments<Communicator, Transfers> segments_;

 private:
  static constexpr functions table{
      .advance = [](untyped_operation& operation) { return self(operation).advance_and_end(); },
      .advance_segments = [](untyped_operation& operation) { return self(operation).advance_segments(); },
      .progress = [](untyped_operation const& operation) noexcept { return self(operation).segments_.progress(); },
      .detect_mismatch = [](untyped_operation& operation) { self(operation).segments_.detect_mismatch(); },
      .publish_wait = [](untyped_operation& operation,
                         bool blocks) { return self(operation).segments_.publish_wait(blocks); },
      .is_queued = [](untyped_operation const& operation) noexcept { return self(operation).segments_.is_queued(); },
      .awaits = [](untyped_operation const& operation) noexcept { return self(operation).segments_.awaits(); },
      .current_flow =
          [](untyped_operation const& operation) noexcept { return self(operation).segments_.current_flow(); },
      .step_number =
          [](untyped_operation const& operation) noexcept { return self(operation).segments_.step_number(); }};
};

// Outside the class: a unit that links the compiled instance does not compile these.

template <class Communicator, bool Transfers>
segmented_operation<Communicator, Transfers>::segmented_operation(Communicator& world, schedule_view const& schedule,
                                                                  payload const& elements, operation_pool* pool)
    : untyped_operation(access::state(world), table, pool),
      world_(world.alias()),
      transport_(world.transport()),
      trace_(world.trace()),
      segments_(world, call_, number_, schedule, elements) {
  if constexpr (!Transfers) {
    queue_ = segments_.queue();
  }
}

template <class Communicator, bool Transfers>
segmented_operation<Communicator, Transfers>::~segmented_operation() = default;

template <class Communicator, bool Transfers>
void segmented_operation<Communicator, Transfers>::finish(duration limit) {
  bool is_complete = false;
  try {
    advance_mark const mark(state_);
    is_complete = segments_.advance();
  } catch (...) {
    if (is_forced_unwind()) {
      end_cancelled();
      throw;
    }
    throw_exception();
  }
  if (is_complete) {
    complete_or_throw(wait_outcome::complete);
  } else {
    wait_for_rest(limit);
  }
}

template <class Communicator, bool Transfers>
void segmented_operation<Communicator, Transfers>::wait_for_rest(duration limit) {
  complete_or_throw(wait_for_segments(limit));
}

template <class Communicator, bool Transfers>
bool segmented_operation<Communicator, Transfers>::advance_segments() {
  advance_mark const mark(state_);
  bool const is_complete = segments_.advance();
  if (is_listed_) {
    note_lanes();
  }
  return is_complete;
}

template <class Communicator, bool Transfers>
bool segmented_operation<Communicator, Transfers>::advance_and_end() {
  if (has_ended_ || state_.is_advancing) {
    return has_ended_;
  }
  try {
    bool const is_complete = !is_given_up_ && advance_segments();
    if (is_given_up_) [[unlikely]] {
      end_cancelled();
    } else if (is_complete && !has_unsafe_results()) {
      complete();
      has_ended_ = true;
    } else if (is_complete || transport_.fault()) {
      end_with_fault();
    }
  } catch (...) {
    if (is_forced_unwind()) {
      end_cancelled();
      throw;
    }
    end_with_exception();
  }
  return has_ended_;
}

}  // namespace tutti::detail::engine
