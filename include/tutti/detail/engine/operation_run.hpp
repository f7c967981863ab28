// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/pending.hpp>
#include <tutti/detail/core/recorder.hpp>
#include <tutti/detail/engine/inquest.hpp>
#include <tutti/detail/engine/wait.hpp>
#include <tutti/trace/concept.hpp>
#include <tutti/transport/concept.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::detail {

/// How one run of one operation goes on and ends: complete, failed, given up or too late. What it consists of is known
/// to an `execution`, which is made of this one; nothing here depends on topology, operation or memories, so it is
/// compiled once for each communicator.
template <class Communicator>
class operation_run : public pending {
  using transport_type = typename Communicator::transport_type;

 public:
  /// What an execution is asked for. A call costs nothing beside what it asks for.
  struct body {
    bool (*advance)(operation_run&);
    std::uint64_t (*progress)(operation_run const&) noexcept;
    void (*inquire)(operation_run&);
    void (*say)(operation_run&, bool blocks);
    bool (*queued)(operation_run const&) noexcept;
    rank_type (*awaits)(operation_run const&) noexcept;
    stream (*on)(operation_run const&) noexcept;
    std::uint32_t (*step_number)(operation_run const&) noexcept;
  };

  operation_run(Communicator& world, body const& of)
      : pending{.advance = [](pending& p) { return self(p).advance_quietly(); },
                .poll = [](pending& p) { self(p).poll(); },
                .check_deadline = [](pending& p) { self(p).check_deadline(); },
                .say = [](pending& p, bool blocks) { self(p).say(blocks || self(p).watched_); },
                .wait = [](pending& p, duration limit) { return self(p).wait_ended(limit); },
                .result = [](pending& p) { self(p).throw_failure(); },
                .cancel = [](pending& p) { self(p).give_up(); }},
        world_(world.alias()),
        recent_(world.recent()),
        transport_(world.transport()),
        trace_(world.trace()),
        body_(&of) {}
  operation_run(operation_run const&) = delete;
  operation_run& operator=(operation_run const&) = delete;

  /// What the next operation tells that it is doing, to be written before it starts; it stays from one to the next.
  [[nodiscard]] call& what() noexcept { return what_; }
  [[nodiscard]] Communicator& world() noexcept { return world_; }
  void set_limit(duration limit) noexcept { limit_ = limit; }

 protected:
  ~operation_run() = default;

  [[nodiscard]] operation_number& number() noexcept { return number_; }

  /// It cannot start, and the others would wait for this rank.
  void withdraw() { transport_.revoke({failure::cancelled, rank(), rank()}); }
  /// It starts.
  void open() {
    ended = false;
    watched_ = false;
    late_ = false;
    error_ = nullptr;
  }
  /// It has taken its place in the order of the communicator.
  void note_place() { place_ = recent_.start(what_, number_); }

  /// Waits for what has not come at once. @throws as finish
  void wait_for_the_rest(duration limit) {
    waited how = waited::done;
    try {
      how = wait(mover{*this, &operation_run::advance_body}, &operation_run::inquire, limit);
      how = how == waited::limit ? find_out(mover{*this, &operation_run::advance_body}, &operation_run::inquire) : how;
    } catch (...) {
      throw_current();
    }
    conclude(how);
  }
  /// All of its body has come, unless it ended otherwise. @throws error
  [[gnu::always_inline]] void conclude(waited how) {
    if (how != waited::done || spoilt()) [[unlikely]] {
      throw_explained();
    }
    complete();
  }
  /// Ends it with the exception that is being handled.
  [[noreturn]] void throw_current() {
    abandon_by_exception();
    std::rethrow_exception(error_);
  }

 private:
  static operation_run& self(pending& p) noexcept { return static_cast<operation_run&>(p); }

  [[nodiscard]] transport_type& transport() const noexcept { return transport_; }
  [[nodiscard]] rank_type rank() const noexcept { return transport_.rank(); }

  /// Moves it on, in one of two ways.
  struct mover {
    operation_run& of;
    bool (operation_run::*advance)();
    bool operator()() const { return (of.*advance)(); }
  };
  bool advance_body() { return body_->advance(*this); }
  waited wait(mover const& go_on, void (operation_run::*ask)(), duration limit) {
    return tutti::detail::wait(
        world_, go_on, [this] { return body_->progress(*this); }, [this, ask] { (this->*ask)(); }, limit);
  }

  void note(event_kind kind, std::uint32_t at = 0, std::string_view text = {}) {
    tutti::record(trace_, [&] { return event{kind, transport().now(), number_, {}, at, no_rank, 0, text}; });
  }

  /// Whether what has been done may be wrong: after a fault the ranks whose memory was read have it back, and do not
  /// wait for a reader that was stopped meanwhile.
  [[nodiscard]] bool spoilt() const noexcept {
    if constexpr (shares_memory<transport_type>) {
      return static_cast<bool>(transport().fault());
    }
    return false;
  }
  void complete() {
    recent_.finish(place_, recorder::state::completed);
    note(event_kind::complete);
  }

  // --- failure

  [[noreturn]] void throw_explained() {
    abandon(explained());
    std::rethrow_exception(error_);
  }

  [[nodiscard]] error explained() const {
    return world_.explain(transport().fault(), what_, number_, body_->step_number(*this));
  }

  /// The deadline has passed: true once it is known which rank is late, and all ranks have been told.
  bool find_culprit() {
    if constexpr (answers<transport_type>) {
      if (!std::exchange(late_, true)) {
        inquest_.begin(transport(), body_->on(*this));
      }
      if (!inquest_.advance(transport())) {
        return false;
      }
      transport().revoke(inquest_.found());
    } else {
      transport().revoke({failure::deadline, body_->awaits(*this), rank()});
    }
    return true;
  }
  /// The same for a wait, during which the operation goes on: it may still end well.
  waited find_out(mover const& go_on, void (operation_run::*ask)()) {
    bool known = false;
    auto either = [&] { return go_on() || (known = find_culprit()); };
    auto const inquire = [this, ask] { (this->*ask)(); };
    waited const how = wait_in_naps(
        world_, either, inquire, [this] { return static_cast<bool>(transport().fault()); }, no_deadline);
    return known ? waited::fault : how;
  }

  /// Ends the operation with an error: every rank is told, and no peer reads this memory any more.
  void abandon(error const& e) {
    abandon(std::make_exception_ptr(e), {e.kind(), e.at_fault().empty() ? no_rank : e.at_fault().front(), rank()},
            e.what());
  }
  void abandon(std::exception_ptr why, fault const& told, char const* text) {
    error_ = std::move(why);
    transport().revoke(told);
    transport().quiesce();
    recent_.finish(place_, recorder::state::failed);
    note(event_kind::fail, body_->step_number(*this), text);
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
    return world_.report(e.kind(), e.what(), what_, number_, body_->step_number(*this), e.at_fault());
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
      bool const done = advance_body();
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

  /// For callers that test again and again: everything moves on, and every few milliseconds
  /// this looks whether a fault or the deadline ends it.
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

  /// The deadline counts from when the result was first asked for.
  void watch(time_point now) {
    if (!std::exchange(watched_, true)) {
      watched_since_ = now;
      looked_ = now;
    }
  }

  void say(bool blocks) {
    if (!ended) {
      body_->say(*this, blocks);
    }
  }
  /// A rank that waits asks whether the others run the same call, and says what it waits for.
  void inquire() {
    if (body_->queued(*this)) {
      world_.operations().say_before(*this);
    }
    say(true);
    body_->inquire(*this);
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
    mover const go_on{*this, &operation_run::advance_quietly};
    waited how = wait(go_on, &operation_run::inquire_quietly, deadline_first ? left : limit);
    bool const over = how != waited::limit || deadline_first;
    if (over) {
      how = how == waited::limit ? find_out(go_on, &operation_run::inquire_quietly) : how;
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
      abandon(world_.explain(why, what_, number_, body_->step_number(*this)));
    }
    world_.operations().erase(*this);
  }

  Communicator world_;
  recorder& recent_;  ///< of that communicator, as the next two
  transport_type& transport_;
  typename Communicator::trace_type& trace_;
  body const* body_;
  call what_;
  operation_number number_;
  std::uint64_t place_ = 0;  ///< among the recent operations
  [[no_unique_address]] typename inquest_of<transport_type>::type inquest_;
  bool late_ = false;  ///< the inquest has begun
  bool watched_ = false;
  time_point watched_since_{};
  time_point looked_{};
  duration limit_{};
  std::exception_ptr error_;  ///< what it ended with, if it failed
};

}  // namespace tutti::detail
