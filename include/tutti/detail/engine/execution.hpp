// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/engine/operation_run.hpp>
#include <tutti/detail/engine/segments.hpp>

#include <concepts>
#include <type_traits>

namespace tutti::inline v0_1_0::detail {

/// One run of one operation, from its start to its end, as far as it does not depend on what the operation is: compiled
/// once for each communicator, and once more for transfers.
template <class Communicator, bool Transfers>
class stepwise_run : public operation_run<Communicator> {
  using base = operation_run<Communicator>;

 public:
  /// The blocking form: until it is complete.
  /// @throws error, and what a reduction throws; the epoch is revoked then, and no peer writes to this rank's memory
  ///         any more
  void finish(duration limit);

  /// Makes it one of those that the communicator moves on.
  void enlist() noexcept {
    run_.note_lanes(*this);
    access::state(this->world()).pending.push_back(*this);
  }

 protected:
  TUTTI_COLD stepwise_run(Communicator& world, schedule_view const& schedule, payload const& elements);
  TUTTI_COLD ~stepwise_run();

  segments<Communicator, Transfers> run_;

 private:
  static stepwise_run& self(unfinished& r) noexcept { return static_cast<stepwise_run&>(r); }
  static stepwise_run const& self(unfinished const& r) noexcept { return static_cast<stepwise_run const&>(r); }

  static constexpr unfinished::body body{
      .advance =
          [](unfinished& r) {
            bool const done = self(r).run_.advance();
            if (r.listed) {
              self(r).run_.note_lanes(r);
            }
            return done;
          },
      .progress = [](unfinished const& r) noexcept { return self(r).run_.progress(); },
      .inquire = [](unfinished& r) { self(r).run_.inquire(); },
      .say = [](unfinished& r, bool blocks) { self(r).run_.say(blocks); },
      .queued = [](unfinished const& r) noexcept { return self(r).run_.queued(); },
      .awaits = [](unfinished const& r) noexcept { return self(r).run_.awaits(); },
      .on = [](unfinished const& r) noexcept { return self(r).run_.on(); },
      .step_number = [](unfinished const& r) noexcept { return self(r).run_.step_number(); }};
};

template <class Communicator, bool Transfers>
stepwise_run<Communicator, Transfers>::stepwise_run(Communicator& world, schedule_view const& schedule,
                                                    payload const& elements)
    : base(world, body), run_(world, this->what(), this->number(), schedule, elements) {
  if constexpr (!Transfers) {
    this->queue = run_.queue();
  }
}

template <class Communicator, bool Transfers>
stepwise_run<Communicator, Transfers>::~stepwise_run() = default;

template <class Communicator, bool Transfers>
void stepwise_run<Communicator, Transfers>::finish(duration limit) {
  bool done = false;
  try {
    typename base::step_mark const during(*this);
    done = run_.advance();
  } catch (...) {
    if (is_forced_unwind()) {
      this->abandon_given_up();
      throw;
    }
    this->throw_current();
  }
  if (done) {
    this->conclude(waited::done);
  } else {
    this->wait_for_the_rest(limit);
  }
}

/// What an operation is: the part of a run that has the user's types.
template <class Topology, class Op, class Payload>
struct work {
  // clang 16 crashes where members without an address are initialised as those of an aggregate.
  work(Topology const& t, Payload const& e) : topology(t), op{}, elements(e) {}

  [[no_unique_address]] Topology topology;
  [[no_unique_address]] Op op;
  Payload elements;

  /// Step i, for the engine: `of` is the work.
  template <class Extent>
  static void step_at(void const* of, rank_type n, rank_type me, std::uint32_t i, step& to) {
    auto const& self = *static_cast<work const*>(of);
    to = self.topology.at(self.op, Extent(n), me, i);
  }
  template <class Extent>
  [[nodiscard]] schedule_view schedule() const noexcept {
    return {.step_at = &step_at<Extent>, .of = this, .blocks_have_owners = blocks_have_owners<Op>};
  }
};

/// Holds it, as a base that is made before those that point to it.
template <class Topology, class Op, class Payload>
struct work_holder {
  work<Topology, Op, Payload> work_;
};

/// One run of one operation of a topology on elements. Reused from call to call, so that a prepared operation allocates
/// nothing.
template <class Communicator, class Topology, class Op, class Payload>
class execution : private work_holder<Topology, Op, Payload>,
                  public stepwise_run<Communicator, std::same_as<Op, op::transfer>> {
  using holder = work_holder<Topology, Op, Payload>;
  using base = stepwise_run<Communicator, std::same_as<Op, op::transfer>>;
  using extent_type = std::remove_cvref_t<decltype(std::declval<Communicator>().extent())>;

 public:
  execution(Communicator& world, Topology const& topology, Payload const& elements)
      : holder{{topology, elements}},
        base(world, this->work_.template schedule<extent_type>(), payload(this->work_.elements, world.size())) {}

  /// Takes the operation's place in the order of the communicator. `memory.work` may be left empty:
  /// then it is allocated if the schedule uses it.
  /// @throws std::bad_alloc, precondition_error; no place has been taken then, but the epoch has failed
  [[gnu::always_inline]] void start(choice<Topology> const& by, Op op, Payload const& elements, memories const& memory,
                                    std::size_t count) {
    auto& mine = this->work_;
    try {
      if (!known_ || !(mine.op == op)) {
        known_ = false;  // and so it stays if the topology refuses
        mine.op = op;
      }
      if constexpr (std::is_empty_v<Topology>) {
        if (!known_) {
          schedule(true);
        }
      } else {
        mine.topology = by.topology;
        schedule(false);
      }
      known_ = true;
      if constexpr (std::same_as<Payload, moving>) {
        this->run_.set_element_bytes(elements.element_bytes);
      }
      if constexpr (std::same_as<Op, op::transfer>) {
        this->run_.set_pair(op.from, op.to);
      }
      this->run_.prepare(by.segment_bytes, memory, count);
    } catch (...) {  // the others would wait for this rank
      this->withdraw();
      throw;
    }
    this->open();
    this->run_.take_place();
    if constexpr (std::same_as<Op, op::transfer>) {
      this->queue = this->run_.queue();
    }
    this->note_place();
    this->run_.note_start();
  }

 private:
  [[gnu::always_inline]] void schedule(bool stays) {
    auto const& mine = this->work_;
    extent_type const extent = this->world().extent();
    this->run_.set_schedule(mine.topology.steps(mine.op, extent, this->world().rank()),
                            mine.topology.blocks(mine.op, extent), stays);
    if constexpr (asks_helpers) {
      helpers_.read(mine.topology, mine.op, extent, this->world().rank());
      this->run_.set_helpers(helpers_.shares);
    }
  }

  static constexpr bool asks_helpers = helps<typename Communicator::transport_type> && has_helpers<Topology, Op>;
  struct nothing {};

  bool known_ = false;  ///< the size of the schedule of this very operation
  /// Beside a bool it takes no room; with no address of its own, nvcc 13 breaks off.
  std::conditional_t<asks_helpers, helper_shares, nothing> helpers_{};
};

}  // namespace tutti::detail
