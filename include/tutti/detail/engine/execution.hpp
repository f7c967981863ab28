// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/operation_run.hpp>
#include <tutti/detail/engine/segments.hpp>

namespace tutti::detail {

/// One run of one operation. Reused from call to call, so that a prepared operation allocates nothing.
template <class Communicator, class Topology, class Op, class Payload>
class execution : public operation_run<Communicator> {
  using base = operation_run<Communicator>;

 public:
  execution(Communicator& world, Topology topology, Payload const& payload)
      : base(world, body), run_(world, this->what(), this->number(), topology, payload) {}

  /// Takes the operation's place in the order of the communicator. `memory.work` may be left empty:
  /// then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error; no place has been taken then, but the epoch has failed
  [[gnu::always_inline]] void start(choice<Topology> const& by, Op op, Payload payload, memories const& memory,
                                    std::size_t count) {
    try {
      run_.prepare(by, op, payload, memory, count);
    } catch (...) {  // the others would wait for this rank
      this->withdraw();
      throw;
    }
    this->open();
    run_.take_place();
    this->queue = run_.queue();
    this->note_place();
    run_.note_start();
  }

  /// The blocking form: until it is complete.
  /// @throws error, and what a reduction throws; the epoch is revoked then, and no peer writes to this rank's memory
  ///         any more
  void finish(duration limit) {
    bool done = false;
    try {
      done = run_.advance();
    } catch (...) {
      this->throw_current();
    }
    if (done) {
      this->conclude(waited::done);
    } else {
      this->wait_for_the_rest(limit);
    }
  }

 private:
  static execution& self(unfinished& r) noexcept { return static_cast<execution&>(r); }
  static execution const& self(unfinished const& r) noexcept { return static_cast<execution const&>(r); }

  static constexpr unfinished::body body{
      .advance = [](unfinished& r) { return self(r).run_.advance(); },
      .progress = [](unfinished const& r) noexcept { return self(r).run_.progress(); },
      .inquire = [](unfinished& r) { self(r).run_.inquire(); },
      .say = [](unfinished& r, bool blocks) { self(r).run_.say(blocks); },
      .queued = [](unfinished const& r) noexcept { return self(r).run_.queued(); },
      .awaits = [](unfinished const& r) noexcept { return self(r).run_.awaits(); },
      .on = [](unfinished const& r) noexcept { return self(r).run_.on(); },
      .step_number = [](unfinished const& r) noexcept { return self(r).run_.step_number(); }};

  segments<Communicator, Topology, Op, Payload> run_;
};

}  // namespace tutti::detail
