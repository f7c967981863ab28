// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/bounded_text.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/relative.hpp>
#include <tutti/detail/communicator/straggler_search.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/extend/expects.hpp>

#include <cerrno>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL untyped_operation::untyped_operation(rank_state& state, functions const& table, operation_pool* pool)
    : functions_(&table), advance_(table.advance), pool_(pool), state_(state) {}
TUTTI_DECL untyped_operation::~untyped_operation() = default;

/// The fault sent to peers when this rank gives up the operation: that of another communicator of its world, if that
/// makes it leave.
TUTTI_DECL tutti::fault untyped_operation::own_fault() const noexcept {
  tutti::fault const reason = state_.kin->reason_to_leave();
  return reason ? reason : tutti::fault{failure::cancelled, state_.rank, state_.rank};
}

TUTTI_DECL void untyped_operation::withdraw() {
  state_.transport.revoke(own_fault());
}

// --- label

TUTTI_DECL void untyped_operation::numbered_label::set(std::string_view source) noexcept {
  copy_bounded(source, text);
  ++number;
}
TUTTI_DECL void untyped_operation::set_label(numbered_label const& next) noexcept {
  label_ = next;
  call_.label = label_.text;
}

// --- waiting

TUTTI_DECL wait_outcome untyped_operation::wait_for_segments(duration limit) {
  try {
    return wait_or_find_culprit({.object = this,
                                 .advance = [](void* p) { return self(p).functions_->advance_segments(self(p)); },
                                 .detect_mismatch = [](void* p) { self(p).detect_mismatch(); },
                                 .progress = [](void* p) { return self(p).functions_->progress(self(p)); }},
                                limit);
  } catch (...) {
    if (is_forced_unwind()) {
      end_cancelled();
      throw;
    }
    throw_exception();
  }
}

/// Waits until the deadline, and then searches for the straggler. The operation may still complete meanwhile.
TUTTI_DECL wait_outcome untyped_operation::wait_or_find_culprit(wait_target const& target, duration limit) {
  wait_outcome const outcome = detail::wait(state_, target, limit);
  if (outcome != wait_outcome::limit) {
    return outcome;
  }
  struct culprit_search {
    untyped_operation& operation;
    wait_target const& target;
    bool is_found = false;
  } search{*this, target};
  wait_outcome const result =
      wait_in_naps(state_,
                   {.object = &search,
                    .advance =
                        [](void* p) {
                          auto& search_state = *static_cast<culprit_search*>(p);
                          return search_state.target.advance(search_state.target.object) ||
                                 (search_state.is_found = search_state.operation.find_culprit());
                        },
                    .detect_mismatch =
                        [](void* p) {
                          auto& search_state = *static_cast<culprit_search*>(p);
                          search_state.target.detect_mismatch(search_state.target.object);
                        }},
                   no_deadline);
  return search.is_found ? wait_outcome::fault : result;
}

/// Continues the search after the deadline; true once the straggler is known and all ranks are informed.
TUTTI_DECL bool untyped_operation::find_culprit() {
  if (!state_.transport.answers()) {
    state_.transport.revoke({failure::deadline, functions_->awaits(*this), state_.rank});
    return true;
  }
  if (!std::exchange(is_late_, true)) {
    search_ = owner<straggler_search>(new straggler_search(state_, functions_->current_flow(*this)));
  }
  if (!search_->advance()) {
    return false;
  }
  state_.transport.revoke(search_->result());
  return true;
}

// --- failure

TUTTI_DECL std::uint32_t untyped_operation::step_number() const noexcept {
  return functions_->step_number(*this);
}

TUTTI_DECL void untyped_operation::end_with_fault() {
  if (first_part_ != nullptr) {
    return end_parts(&untyped_operation::end_with_fault);
  }
  end_with_error(state_.explain(state_.transport.fault(), call_, number_, step_number()));
}
/// Ends the parts of a joint operation that have not ended, and with them the operation.
TUTTI_DECL void untyped_operation::end_parts(void (untyped_operation::*end)()) {
  for (untyped_operation* part = first_part_; part != nullptr; part = part->next_) {
    if (!part->has_ended_) {
      (part->*end)();
    }
    error_ = error_ ? error_ : part->error_;
  }
  has_ended_ = true;
  notify();
}

TUTTI_DECL void untyped_operation::throw_fault() {
  end_with_fault();
  std::rethrow_exception(error_);
}
TUTTI_DECL void untyped_operation::throw_exception() {
  end_with_exception();
  std::rethrow_exception(error_);
}

TUTTI_DECL void untyped_operation::end_with_error(error&& cause) {
  tutti::fault f = state_.transport.fault();  // an error has not all that a fault has
  if (!f) {
    f = {cause.kind(), cause.at_fault().empty() ? no_rank : cause.at_fault().front(), state_.rank};
  }
  fail_epoch(f);
  bool const is_intended =
      cause.kind() == failure::aborted || (cause.kind() == failure::cancelled && f.culprit == state_.rank);
  int const code =
      is_intended ? 0
                  : dumps::write(state_.record->identity(), cause.what(), find_suspect(cause));  // with the last wait
  if (code != 0) {
    try {
      cause = error(cause.facts(), cause.what() + dumps::describe_failure(code));
    } catch (std::bad_alloc const&) {  // without memory, the error says nothing of the dump
    }
  }
  try {
    throw std::move(cause);
  } catch (error const& e) {
    record_error(std::current_exception(), e.what());
  }
}
TUTTI_DECL void untyped_operation::end_with_error(std::exception_ptr exception, tutti::fault const& cause,
                                                  char const* text) {
  fail_epoch(cause);
  record_error(std::move(exception), text);
}
/// The rank that is late or gone, if it is another process of this host.
TUTTI_DECL local_suspect untyped_operation::find_suspect(error const& cause) const {
  bool const is_alone =
      cause.at_fault().size() == 1 && (cause.kind() == failure::deadline || cause.kind() == failure::peer_lost);
  rank_type const r = is_alone ? cause.at_fault().front() : state_.rank;
  member const& self = state_.members[state_.rank];
  bool const is_neighbour =
      r < state_.size() && state_.members[r].host == self.host && state_.members[r].pid != self.pid;
  return is_neighbour
             ? local_suspect{r, static_cast<std::uint32_t>(state_.members[r].pid), cause.kind() == failure::peer_lost}
             : local_suspect{};
}
/// Fails the epoch: every rank is told, and no peer reads this memory any more.
TUTTI_DECL void untyped_operation::fail_epoch(tutti::fault const& cause) {
  cancellation_shield const shield(cancellation_shield::points::silent);
  state_.transport.revoke(cause);
  state_.kin->tell(state_.transport.fault());
  state_.transport.quiesce();
}
TUTTI_DECL void untyped_operation::record_error(std::exception_ptr exception, char const* text) {
  cancellation_shield const shield(cancellation_shield::points::silent);
  error_ = std::move(exception);
  state_.recent.finish(recorded_at_, recorder::state::failed);
  if (state_.trace_functions.record != nullptr) {
    state_.trace_functions.record(
        state_, {event_kind::fail, state_.transport.now(), number_, {}, step_number(), no_rank, 0, text});
  }
  has_ended_ = true;
  notify();
}

/// Ends the operation with an exception of the transport or of a user's reduction. For peers, the latter is an
/// operation that this rank gave up.
TUTTI_DECL void untyped_operation::end_with_exception() {
  if (first_part_ != nullptr) {
    return end_parts(&untyped_operation::end_with_exception);
  }
  try {
    throw;
  } catch (error const& e) {
    end_with_error(make_error(e.kind(), e.what(), e.at_fault()));
  } catch (precondition_error const& e) {
    error const error_with_call = make_error(failure::cancelled, e.what(), {});
    try {
      throw precondition_error(error_with_call.what(), e.location());
    } catch (...) {
      end_with_error(std::current_exception(), own_fault(), error_with_call.what());
    }
  } catch (std::bad_alloc const& e) {
    end_with_error(std::current_exception(),
                   {.kind = failure::cancelled, .culprit = state_.rank, .reporter = state_.rank, .code = ENOMEM},
                   e.what());
  } catch (...) {
    end_with_error(std::current_exception(), own_fault(), "an exception");
  }
}

/// The error of this operation for a failure in code that does not know the operation. A failure without a rank is this
/// rank's.
TUTTI_DECL error untyped_operation::make_error(failure kind, std::string_view text,
                                               std::vector<rank_type> const& at_fault) const {
  std::string full_text(text);
  if (kind == failure::mismatch && call_.partition != 0 && call_.kind != operation_kind::alltoall) {
    append(full_text, {"; the block of rank ", state_.rank, " has ", own_block_, " of the ", call_.count, " elements"});
  }
  return state_.report(kind, full_text, call_, number_, step_number(),
                       at_fault.empty() ? std::vector{state_.rank} : at_fault);
}

TUTTI_DECL void untyped_operation::throw_failure() const {
  if (error_) {
    std::rethrow_exception(error_);
  }
}

// --- the function at the end

TUTTI_DECL void untyped_operation::expect_no_function() {
  call_guard guard(state_);
  expects(!on_end_, "on_end: this request has a function already; let one call both");
  guard.end();
}
TUTTI_DECL void untyped_operation::observe() {
  try {
    call_guard guard(state_);
    watch(state_.transport.now());
    guard.end();
  } catch (...) {
    on_end_.drop();
    throw;
  }
  advance_ = &advance_and_notify;
  if (has_ended_) {
    notify();
    state_.end_given_up();
  }
}
TUTTI_DECL bool untyped_operation::advance_and_notify(untyped_operation& operation) {
  bool const has_ended = operation.functions_->advance(operation);
  if (has_ended) {
    operation.notify();
  }
  return has_ended;
}
/// Calls the function, if there is one, under the rules of a reduction.
TUTTI_DECL void untyped_operation::notify() noexcept {
  if (on_end_) {
    advance_ = functions_->advance;
    advance_mark const mark(state_);
    on_end_(error_);
  }
}

// --- for requests and event loops

TUTTI_DECL void untyped_operation::poll() {
  call_guard guard(state_);
  state_.poll();
  if (!has_ended_) {
    const time_point now = state_.transport.now();
    watch(now);
    if (now - last_look_ >= between_looks) {
      last_look_ = now;
      state_.probe();
      check_deadline();
    }
  }
  guard.end();
}

TUTTI_DECL void untyped_operation::check_deadline() {
  call_guard guard(state_);
  const time_point now = state_.transport.now();
  watch(now);
  detect_mismatch_quietly();
  if (!advance() && now - watched_since_ >= limit_ && find_culprit()) {
    end_with_fault();
  }
  if (has_ended_) {
    state_.operations.erase(*this);
  }
  guard.end();
}

/// Starts the deadline when the result is first asked for.
TUTTI_DECL void untyped_operation::watch(time_point now) {
  if (!std::exchange(is_watched_, true)) {
    watched_since_ = now;
    last_look_ = now;
  }
}

TUTTI_DECL void untyped_operation::publish_wait(bool blocks) {
  if (!has_ended_) {
    note_wait(functions_->publish_wait(*this, blocks || is_watched_));
  }
}
/// Notes a wait for which the program is blocked. Progress begins another one.
TUTTI_DECL void untyped_operation::note_wait(wait_report const& current) noexcept {
  if (!current.blocks_program) {
    return;
  }
  time_point const now = steady_now();
  std::uint64_t const peer_and_progress = std::uint64_t{current.peer} << 32 | current.progress;
  if (noted_wait_.place != recorded_at_ || noted_wait_.peer_and_progress != peer_and_progress) {
    noted_wait_ = {recorded_at_, peer_and_progress, now};
  }
  state_.recent.note({recorded_at_, noted_wait_.begin, now, current.peer, step_number(), this_thread_number()});
}
/// Asks if peers run the same call, and reports this rank's wait.
TUTTI_DECL void untyped_operation::detect_mismatch() {
  if (functions_->is_queued(*this)) {
    state_.operations.say_before(*this);
  }
  publish_wait(true);
  functions_->detect_mismatch(*this);
}
TUTTI_DECL void untyped_operation::detect_mismatch_quietly() {
  try {
    if (!has_ended_) {
      detect_mismatch();
    }
  } catch (...) {
    end_with_exception();
  }
}

TUTTI_DECL bool untyped_operation::wait(duration limit) {
  call_guard guard(state_);
  const time_point now = state_.transport.now();
  watch(now);
  duration remaining = limit_ - (now - watched_since_);  // in this order, since the limit may be the longest duration
  remaining = remaining < duration::zero() ? duration::zero() : remaining;
  wait_target const target{.object = this,
                           .advance = [](void* p) { return self(p).advance(); },
                           .detect_mismatch = [](void* p) { self(p).detect_mismatch_quietly(); },
                           .progress = [](void* p) { return self(p).functions_->progress(self(p)); }};
  bool is_over = true;
  wait_outcome outcome = wait_outcome::complete;
  if (remaining <= limit) {
    outcome = wait_or_find_culprit(target, remaining);
  } else {
    outcome = detail::wait(state_, target, limit);
    is_over = outcome != wait_outcome::limit;
  }
  if (is_over) {
    if (outcome != wait_outcome::complete && !has_ended_) {
      end_with_fault();
    }
    state_.operations.erase(*this);
  }
  guard.end();
  return is_over;
}

TUTTI_DECL void untyped_operation::cancel() {
  cancellation_shield const shield(
      cancellation_shield::points::silent);  // no cancellation point: the request may be in destruction
  if (state_.is_inherited()) {               // the operation continues in the parent
    has_ended_ = true;
    on_end_.drop();
    advance_ = functions_->advance;
    state_.operations.erase(*this);
    return;
  }
  exclusion const turn(state_);
  state_.claim();
  if (state_.is_advancing) {  // the operation uses its memory
    is_given_up_ = !has_ended_;
    state_.has_given_up = state_.has_given_up || is_given_up_;
    return;
  }
  if (!has_ended_ && !advance()) {
    end_cancelled();
  }
  state_.operations.erase(*this);
  state_.end_given_up();
}

TUTTI_DECL void untyped_operation::end_cancelled() {
  if (first_part_ != nullptr) {
    return end_parts(&untyped_operation::end_cancelled);
  }
  state_.transport.revoke(own_fault());
  end_with_error(state_.explain(own_fault(), call_, number_, step_number()));
}

}  // namespace tutti::detail::communicator
