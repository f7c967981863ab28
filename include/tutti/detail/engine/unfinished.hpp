// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/core/pending.hpp>
#include <tutti/detail/engine/wait.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>

#include <exception>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail {

class inquest;

/// An operation that has not come to its end at once: what waits for it, and how it fails, is given up or is too late.
/// Compiled once for all communicators, topologies and reductions. What it consists of is known to an `execution`.
class unfinished : public pending {
 public:
  /// What an execution is asked for.
  struct body {
    bool (*advance)(unfinished&);
    std::uint64_t (*progress)(unfinished const&) noexcept;
    void (*inquire)(unfinished&);
    void (*say)(unfinished&, bool blocks);
    bool (*queued)(unfinished const&) noexcept;
    rank_type (*awaits)(unfinished const&) noexcept;
    flow (*on)(unfinished const&) noexcept;
    std::uint32_t (*step_number)(unfinished const&) noexcept;
  };

  unfinished(unfinished const&) = delete;
  unfinished& operator=(unfinished const&) = delete;

  /// What the next operation tells that it is doing, to be written before it starts; it stays from one to the next.
  [[nodiscard]] call& what() noexcept { return what_; }
  void set_limit(duration limit) noexcept { limit_ = limit; }

 protected:
  /// `quietly` moves it on, and ends it if it has come or failed; true when it has ended. It does not throw.
  TUTTI_DECL unfinished(rank_state& in, body const& of, bool (*quietly)(pending&));
  TUTTI_DECL ~unfinished();

  [[nodiscard]] operation_number& number() noexcept { return number_; }

  /// It cannot start, and the others would wait for this rank.
  TUTTI_DECL void withdraw();
  /// It starts.
  void open() {
    ended = false;
    given_up = false;
    watched_ = false;
    late_ = false;
    error_ = nullptr;
  }
  /// It has taken its place in the order of the communicator.
  void note_place() { place_ = in_.recent.start(what_, number_); }
  /// It has come to a good end.
  void note_end() noexcept { in_.recent.finish(place_, recorder::state::completed); }

  /// Marks the time of a step, in which the user's reduction may be called. No other step of the communicator begins
  /// meanwhile.
  class step_mark {
   public:
    explicit step_mark(unfinished& of) noexcept : in_(of.in_) { in_.in_step = true; }
    step_mark(step_mark const&) = delete;
    step_mark& operator=(step_mark const&) = delete;
    ~step_mark() { in_.in_step = false; }

   private:
    rank_state& in_;
  };

  [[nodiscard]] bool advance_body() {
    step_mark const during(*this);
    return body_->advance(*this);
  }
  [[nodiscard]] bool in_step() const noexcept { return in_.in_step; }
  /// Ends it after the step during which it was given up.
  TUTTI_DECL void abandon_given_up();
  /// Waits for what has not come at once. @throws what its body throws; it has ended then
  [[nodiscard]] TUTTI_DECL waited await_body(duration limit);

  /// Ends it with the fault of the epoch.
  TUTTI_DECL void abandon_by_fault();
  [[noreturn]] TUTTI_DECL void throw_explained();
  /// Ends it with the exception that is being handled.
  TUTTI_DECL void abandon_by_exception();
  [[noreturn]] TUTTI_DECL void throw_current();

 private:
  static unfinished& self(pending& p) noexcept { return static_cast<unfinished&>(p); }

  [[nodiscard]] TUTTI_DECL std::uint32_t step_number() const noexcept;
  [[nodiscard]] TUTTI_DECL bool find_culprit();
  [[nodiscard]] TUTTI_DECL waited await(wait_target const& what, duration limit);
  TUTTI_DECL void abandon(error&& with);
  TUTTI_DECL void abandon(std::exception_ptr why, tutti::fault const& told, char const* text);
  [[nodiscard]] TUTTI_DECL error placed(failure kind, std::string_view text,
                                        std::vector<rank_type> const& at_fault) const;
  [[nodiscard]] TUTTI_DECL tutti::fault own_fault() const noexcept;

  TUTTI_DECL void look_after();
  TUTTI_DECL void meet_deadline();
  TUTTI_DECL void watch(time_point now);
  TUTTI_DECL void tell(bool blocks);
  TUTTI_DECL void inquire_body();
  TUTTI_DECL void inquire_quietly();
  [[nodiscard]] TUTTI_DECL bool wait_ended(duration limit);
  TUTTI_DECL void throw_failure() const;
  TUTTI_DECL void give_up();

  rank_state& in_;
  body const* body_;
  call what_;
  operation_number number_;
  std::uint64_t place_ = 0;  ///< among the recent operations
  owned<inquest> inquest_;
  bool late_ = false;  ///< the inquest has begun
  bool watched_ = false;
  time_point watched_since_{};
  time_point looked_{};
  duration limit_{};
  std::exception_ptr error_;  ///< what it ended with, if it failed
};

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/engine/unfinished.ipp>
#endif
