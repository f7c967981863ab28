// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/engine/inquest.hpp>
#include <tutti/detail/engine/unfinished.hpp>
#include <tutti/extend/expects.hpp>

#include <cerrno>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL unfinished::unfinished(rank_state& in, body const& of, bool (*quietly)(pending&))
    : pending{.advance = quietly,
              .poll = [](pending& p) { self(p).look_after(); },
              .check_deadline = [](pending& p) { self(p).meet_deadline(); },
              .say = [](pending& p, bool blocks) { self(p).tell(blocks || self(p).watched_); },
              .wait = [](pending& p, duration limit) { return self(p).wait_ended(limit); },
              .result = [](pending& p) { self(p).throw_failure(); },
              .cancel = [](pending& p) { self(p).give_up(); }},
      in_(in),
      body_(&of) {}

TUTTI_DECL unfinished::~unfinished() = default;

/// The fault that peers are told when this rank gives the operation up: that of another communicator of its world, if
/// it leaves for that.
TUTTI_DECL tutti::fault unfinished::own_fault() const noexcept {
  tutti::fault const reason = in_.kin->reason_to_leave();
  return reason ? reason : tutti::fault{failure::cancelled, in_.rank, in_.rank};
}

TUTTI_DECL void unfinished::withdraw() {
  in_.any.revoke(own_fault());
}

// --- waiting

TUTTI_DECL waited unfinished::await_body(duration limit) {
  try {
    return await(
        {.of = this,
         .advance = [](void* p) { return static_cast<unfinished*>(p)->advance_body(); },
         .inquire = [](void* p) { static_cast<unfinished*>(p)->inquire_body(); },
         .progress =
             [](void* p) { return static_cast<unfinished*>(p)->body_->progress(*static_cast<unfinished*>(p)); }},
        limit);
  } catch (...) {
    if (is_forced_unwind()) {
      abandon_given_up();
      throw;
    }
    throw_current();
  }
}

/// Waits for as long as the deadline allows, and then finds out which rank is late. The operation goes on meanwhile: it
/// may still end well.
TUTTI_DECL waited unfinished::await(wait_target const& what, duration limit) {
  waited const how = detail::wait(in_, what, limit);
  if (how != waited::limit) {
    return how;
  }
  struct search {
    unfinished& of;
    wait_target const& what;
    bool known = false;
  } late{*this, what};
  waited const found = wait_in_naps(in_,
                                    {.of = &late,
                                     .advance =
                                         [](void* p) {
                                           auto& s = *static_cast<search*>(p);
                                           return s.what.advance(s.what.of) || (s.known = s.of.find_culprit());
                                         },
                                     .inquire =
                                         [](void* p) {
                                           auto& s = *static_cast<search*>(p);
                                           s.what.inquire(s.what.of);
                                         }},
                                    no_deadline);
  return late.known ? waited::fault : found;
}

/// The deadline has passed: true once it is known which rank is late, and all ranks have been told.
TUTTI_DECL bool unfinished::find_culprit() {
  if (!in_.any.answers()) {
    in_.any.revoke({failure::deadline, body_->awaits(*this), in_.rank});
    return true;
  }
  if (!std::exchange(late_, true)) {
    inquest_ = owned<inquest>(new inquest(in_, body_->on(*this)));
  }
  if (!inquest_->advance()) {
    return false;
  }
  in_.any.revoke(inquest_->found());
  return true;
}

// --- failure

TUTTI_DECL std::uint32_t unfinished::step_number() const noexcept {
  return body_->step_number(*this);
}

TUTTI_DECL void unfinished::abandon_by_fault() {
  abandon(in_.explain(in_.any.fault(), what_, number_, step_number()));
}
TUTTI_DECL void unfinished::throw_explained() {
  abandon_by_fault();
  std::rethrow_exception(error_);
}
TUTTI_DECL void unfinished::throw_current() {
  abandon_by_exception();
  std::rethrow_exception(error_);
}

/// Ends the operation with an error: every rank is told, and no peer reads this memory any more.
TUTTI_DECL void unfinished::abandon(error&& with) {
  try {
    throw std::move(with);
  } catch (error const& e) {
    abandon(std::current_exception(), {e.kind(), e.at_fault().empty() ? no_rank : e.at_fault().front(), in_.rank},
            e.what());
  }
}
TUTTI_DECL void unfinished::abandon(std::exception_ptr why, tutti::fault const& told, char const* text) {
  uncancelled const throughout(uncancelled::points::none);
  error_ = std::move(why);
  in_.any.revoke(told);
  in_.kin->tell(in_.any.fault());
  in_.any.quiesce();
  in_.recent.finish(place_, recorder::state::failed);
  if (in_.traced.record != nullptr) {
    in_.traced.record(in_, {event_kind::fail, in_.any.now(), number_, {}, step_number(), no_rank, 0, text});
  }
  ended = true;
}

/// The exception is the transport's, or anything that a user's reduction throws, which for the others is an operation
/// that this rank gave up.
TUTTI_DECL void unfinished::abandon_by_exception() {
  try {
    throw;
  } catch (error const& e) {
    abandon(placed(e.kind(), e.what(), e.at_fault()));
  } catch (precondition_error const& e) {
    error const told = placed(failure::cancelled, e.what(), {});
    try {
      throw precondition_error(told.what(), e.where());
    } catch (...) {
      abandon(std::current_exception(), own_fault(), told.what());
    }
  } catch (std::bad_alloc const& e) {
    abandon(std::current_exception(),
            {.kind = failure::cancelled, .culprit = in_.rank, .reporter = in_.rank, .code = ENOMEM}, e.what());
  } catch (...) {
    abandon(std::current_exception(), own_fault(), "an exception");
  }
}

/// The error of this operation for a failure of code that does not know the operation. If the failure names no rank, it
/// is this rank's.
TUTTI_DECL error unfinished::placed(failure kind, std::string_view text, std::vector<rank_type> const& at_fault) const {
  return in_.report(kind, text, what_, number_, step_number(), at_fault.empty() ? std::vector{in_.rank} : at_fault);
}

TUTTI_DECL void unfinished::throw_failure() const {
  if (error_) {
    std::rethrow_exception(error_);
  }
}

// --- as a pending operation

/// For callers that test again and again: everything moves on, and every few milliseconds
/// this looks whether a fault or the deadline ends it.
TUTTI_DECL void unfinished::look_after() {
  turn mine(in_);
  in_.poll();
  if (!ended) {
    const time_point now = in_.any.now();
    watch(now);
    if (now - looked_ >= between_looks) {
      looked_ = now;
      in_.look();
      meet_deadline();
    }
  }
  mine.end();
}

/// For callers that never wait: ends the operation when its time is up.
TUTTI_DECL void unfinished::meet_deadline() {
  turn mine(in_);
  const time_point now = in_.any.now();
  watch(now);
  inquire_quietly();
  if (!advance(*this) && now - watched_since_ >= limit_ && find_culprit()) {
    abandon_by_fault();
  }
  if (ended) {
    in_.pending.erase(*this);
  }
  mine.end();
}

/// The deadline counts from when the result was first asked for.
TUTTI_DECL void unfinished::watch(time_point now) {
  if (!std::exchange(watched_, true)) {
    watched_since_ = now;
    looked_ = now;
  }
}

TUTTI_DECL void unfinished::tell(bool blocks) {
  if (!ended) {
    body_->say(*this, blocks);
  }
}
/// A rank that waits asks whether the others run the same call, and says what it waits for.
TUTTI_DECL void unfinished::inquire_body() {
  if (body_->queued(*this)) {
    in_.pending.say_before(*this);
  }
  tell(true);
  body_->inquire(*this);
}
TUTTI_DECL void unfinished::inquire_quietly() {
  try {
    if (!ended) {
      inquire_body();
    }
  } catch (...) {
    abandon_by_exception();
  }
}

/// Waits for as long as the caller likes, and the deadline allows.
TUTTI_DECL bool unfinished::wait_ended(duration limit) {
  turn mine(in_);
  const time_point now = in_.any.now();
  watch(now);
  duration left = limit_ - (now - watched_since_);  // in this order: the limit may be the longest there is
  left = left < duration::zero() ? duration::zero() : left;
  wait_target const to_its_end{
      .of = this,
      .advance = [](void* p) { return static_cast<unfinished*>(p)->pending::advance(*static_cast<unfinished*>(p)); },
      .inquire = [](void* p) { static_cast<unfinished*>(p)->inquire_quietly(); },
      .progress = [](void* p) { return static_cast<unfinished*>(p)->body_->progress(*static_cast<unfinished*>(p)); }};
  bool over = true;
  waited how = waited::done;
  if (left <= limit) {
    how = await(to_its_end, left);
  } else {
    how = detail::wait(in_, to_its_end, limit);
    over = how != waited::limit;
  }
  if (over) {
    if (how != waited::done && !ended) {
      abandon_by_fault();
    }
    in_.pending.erase(*this);
  }
  mine.end();
  return over;
}

TUTTI_DECL void unfinished::give_up() {
  uncancelled const throughout(uncancelled::points::none);  // a request that is destroyed cannot be left
  if (in_.inherited()) {                                    // it goes on in the parent
    ended = true;
    in_.pending.erase(*this);
    return;
  }
  in_.claim();
  if (in_.in_step) {  // its memory is in use
    given_up = !ended;
    in_.gave_up = in_.gave_up || given_up;
    return;
  }
  if (!ended && !advance(*this)) {
    abandon_given_up();
  }
  in_.pending.erase(*this);
}

TUTTI_DECL void unfinished::abandon_given_up() {
  in_.any.revoke(own_fault());
  abandon(in_.explain(own_fault(), what_, number_, step_number()));
}

}  // namespace tutti::detail
