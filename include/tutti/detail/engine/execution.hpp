// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/pending.hpp>
#include <tutti/detail/core/recorder.hpp>
#include <tutti/detail/engine/inquest.hpp>
#include <tutti/detail/engine/segments.hpp>
#include <tutti/detail/engine/wait.hpp>

#include <exception>
#include <string>

namespace tutti::detail {

/// One run of one operation, and how it ends: complete, failed, given up or too late. Reused from call to
/// call, so that a prepared operation allocates nothing.
template <class Communicator, class Topology, class Op, class Payload>
class execution : public pending {
 public:
  execution(Communicator& world, Topology topology, Payload const& payload)
      : pending{.advance = [](pending& p) { return self(p).advance_quietly(); },
                .poll = [](pending& p) { self(p).poll(); },
                .check_deadline = [](pending& p) { self(p).check_deadline(); },
                .say = [](pending& p, bool blocks) { self(p).say(blocks || self(p).watched_); },
                .wait = [](pending& p, duration limit) { return self(p).wait_ended(limit); },
                .result = [](pending& p) { self(p).throw_failure(); },
                .cancel = [](pending& p) { self(p).give_up(); }},
        world_(world.alias()),
        recent_(world.recent()),
        run_(world, topology, payload) {}

  /// What the next operation tells that it is doing, to be written before it starts; it stays from one to the next.
  [[nodiscard]] call& what() noexcept { return run_.what(); }

  /// Takes the operation's place in the order of the communicator. `memory.work` may be left empty:
  /// then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error; no place has been taken then, but the epoch has failed
  [[gnu::always_inline]] void start(choice<Topology> const& by, Op op, Payload payload, memories const& memory,
                                    std::size_t count) {
    try {
      run_.prepare(by, op, payload, memory, count);
    } catch (...) {  // the others would wait for this rank
      transport().revoke({failure::cancelled, rank(), rank()});
      throw;
    }
    ended = false;
    watched_ = false;
    late_ = false;
    error_ = nullptr;
    run_.take_place();
    queue = run_.queue();
    place_ = recent_.start(what(), number());
    run_.note_start();
  }

  /// The blocking form: until it is complete.
  /// @throws error, and what a reduction throws; the epoch is revoked then, and no peer reads this
  /// @throws error, and what a reduction throws; the epoch is revoked then, and no peer writes to this rank's memory
  ///         any more
  void finish(duration limit) {
    waited how = waited::done;
    try {
      if (!run_.advance()) {
        auto const go_on = [this] { return run_.advance(); };
        auto const progress = [this] { return run_.progress(); };
        auto const inquire = [this] { this->inquire(); };
        how = tutti::detail::wait(world_, go_on, progress, inquire, limit);
        how = how == waited::limit ? find_out(go_on, inquire) : how;
      }
    } catch (...) {
      abandon_by_exception();
      throw_failure();
    }
    if (how != waited::done || spoilt()) {
      abandon(explained());
      throw_failure();
    }
    complete();
  }

  [[nodiscard]] Communicator& world() noexcept { return world_; }
  void set_limit(duration limit) noexcept { limit_ = limit; }

 private:
  static execution& self(pending& p) noexcept { return static_cast<execution&>(p); }

  [[nodiscard]] auto& transport() const noexcept { return run_.context().transport; }
  [[nodiscard]] rank_type rank() const noexcept { return run_.context().rank; }
  [[nodiscard]] operation_number const& number() const noexcept { return run_.context().number; }

  /// Whether what has been done may be wrong: after a fault the ranks whose memory was read have it back, and do not
  /// wait for a reader that was stopped meanwhile.
  [[nodiscard]] bool spoilt() const noexcept {
    if constexpr (shares_memory<typename Communicator::transport_type>) {
      return static_cast<bool>(transport().fault());
    }
    return false;
  }
  void complete() {
    recent_.finish(place_, recorder::state::completed);
    run_.context().note(event_kind::complete);
  }

  // --- failure

  [[nodiscard]] error explained() const {
    return world_.explain(transport().fault(), run_.what(), number(), run_.step_number());
  }

  /// The deadline has passed: true once it is known which rank is late, and all ranks have been told.
  bool find_culprit() {
    if constexpr (answers<typename Communicator::transport_type>) {
      if (!std::exchange(late_, true)) {
        inquest_.begin(transport(), run_.on());
      }
      if (!inquest_.advance(transport())) {
        return false;
      }
      transport().revoke(inquest_.found());
    } else {
      transport().revoke({failure::deadline, run_.awaits(), rank()});
    }
    return true;
  }
  /// The same for those who wait, and go on with the operation: it may still end well.
  template <class GoOn, class Inquire>
  waited find_out(GoOn const& go_on, Inquire const& inquire) {
    bool known = false;
    auto either = [&] { return go_on() || (known = find_culprit()); };
    waited const how = wait_in_naps(
        world_, either, inquire, [this] { return static_cast<bool>(transport().fault()); }, no_deadline);
    return known ? waited::fault : how;
  }

  /// Ends the operation with an error: every rank shall know, and nobody read this memory any more.
  void abandon(error const& e) {
    abandon(std::make_exception_ptr(e), {e.kind(), e.at_fault().empty() ? no_rank : e.at_fault().front(), rank()},
            e.what());
  }
  void abandon(std::exception_ptr why, fault const& told, char const* text) {
    error_ = std::move(why);
    transport().revoke(told);
    transport().quiesce();
    recent_.finish(place_, recorder::state::failed);
    run_.context().note(event_kind::fail, run_.step_number(), text);
    ended = true;
  }

  /// Ends it with the exception that is being handled: the transport's, or anything that a user's
  /// reduction throws, which for the others is an operation that this rank gave up.
  void abandon_by_exception() {
    try {
      throw;
    } catch (error const& e) {
      abandon(placed(e));
    } catch (precondition_error const& e) {
      std::string const text = placed({failure::cancelled, e.what()}).what();
      abandon(std::make_exception_ptr(precondition_error(text.c_str(), e.where())),
              {failure::cancelled, rank(), rank()}, text.c_str());
    } catch (...) {
      abandon(std::current_exception(), {failure::cancelled, rank(), rank()}, "an exception");
    }
  }

  /// What found something wrong does not know about which operation.
  [[nodiscard]] error placed(error const& e) const {
    return world_.report(e.kind(), e.what(), run_.what(), number(), run_.step_number(), e.at_fault());
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
      bool const done = run_.advance();
      if (done && !spoilt()) {
        complete();
        ended = true;
      } else if (done || transport().fault()) {
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
    typename Communicator::turn mine(world_);
    world_.poll();
    if (!ended) {
      const time_point now = transport().now();
      watch(now);
      if (now - looked_ >= between_looks) {
        looked_ = now;
        world_.look();
        check_deadline();
      }
    }
    mine.end();
  }

  /// For callers that never wait: ends the operation when its time is up.
  void check_deadline() {
    typename Communicator::turn mine(world_);
    const time_point now = transport().now();
    watch(now);
    inquire_quietly();
    if (!advance_quietly() && now - watched_since_ >= limit_ && find_culprit()) {
      abandon(explained());
    }
    if (ended) {
      world_.operations().erase(*this);
    }
    mine.end();
  }

  /// The deadline counts from when somebody first asked for the result.
  void watch(time_point now) {
    if (!std::exchange(watched_, true)) {
      watched_since_ = now;
      looked_ = now;
    }
  }

  void say(bool blocks) {
    if (!ended) {
      run_.say(blocks);
    }
  }
  /// A rank that waits asks whether the others run the same call, and says what it waits for.
  void inquire() {
    if (run_.queued()) {
      world_.operations().say_before(*this);
    }
    say(true);
    run_.inquire();
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
    const duration left = limit_ - (now - watched_since_);  // in this order: the limit may be the longest there is
    return left < duration::zero() ? duration::zero() : left;
  }

  /// Waits for as long as the caller likes, and the deadline allows.
  bool wait_ended(duration limit) {
    typename Communicator::turn mine(world_);
    const time_point now = transport().now();
    watch(now);
    const duration left = remaining(now);
    bool const deadline_first = left <= limit;
    auto const go_on = [this] { return advance_quietly(); };
    auto const progress = [this] { return run_.progress(); };
    auto const inquire = [this] { inquire_quietly(); };
    waited how = tutti::detail::wait(world_, go_on, progress, inquire, deadline_first ? left : limit);
    bool const over = how != waited::limit || deadline_first;
    if (over) {
      how = how == waited::limit ? find_out(go_on, inquire) : how;
      if (how != waited::done && !ended) {
        abandon(explained());
      }
      world_.operations().erase(*this);
    }
    mine.end();
    return over;
  }

  void give_up() {
    if (world_.inherited()) {  // it goes on in the parent
      ended = true;
      world_.operations().erase(*this);
      return;
    }
    world_.claim();
    if (!ended && !advance_quietly()) {
      const fault why{failure::cancelled, rank(), rank()};
      transport().revoke(why);
      abandon(world_.explain(why, run_.what(), number(), run_.step_number()));
    }
    world_.operations().erase(*this);
  }

  Communicator world_;
  recorder& recent_;  ///< of that communicator, as all to which the segments refer
  segments<Communicator, Topology, Op, Payload> run_;
  std::uint64_t place_ = 0;  ///< among the recent operations
  [[no_unique_address]] typename inquest_of<typename Communicator::transport_type>::type inquest_;
  bool late_ = false;  ///< the inquest has begun
  bool watched_ = false;
  time_point watched_since_{};
  time_point looked_{};
  duration limit_{};
  std::exception_ptr error_;  ///< what it ended with, if it failed
};

}  // namespace tutti::detail
