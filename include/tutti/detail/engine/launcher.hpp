// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/engine/enqueued.hpp>
#include <tutti/detail/engine/lifted.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <cstring>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline engine {

/// True if in-network aggregators ("helpers" in names) can do what the payload needs; else the operation runs without
/// them.
template <class Transport, class Payload>
inline constexpr bool can_be_helped = [] {
  if constexpr (aggregates<Transport>) {
    return Transport::supports(Payload::in_network);
  } else {
    return false;
  }
}();

/// True if aggregators may be used where the topology has them. False if contributions must be lifted first and the
/// topology chooses at run time: its schedules are of one type, which `lifted` cannot adapt.
template <class Transport, class Op, class Payload, class Topology>
inline constexpr bool runs_helped =
    can_be_helped<Transport, Payload> && !(Payload::lifts_for_helpers && chooses_schedule<Topology, Op>);

/// The topology to run for the one that the user gave: without aggregators, with lifting first, or unchanged.
template <class Transport, class Op, class Payload, class Topology>
[[nodiscard]] constexpr auto runnable(Topology const& t) {
  if constexpr (has_aggregators<Topology, Op> && !runs_helped<Transport, Op, Payload, Topology>) {
    return t.without_aggregators();
  } else if constexpr (has_aggregators<Topology, Op> && Payload::lifts_for_helpers) {
    return lifted<Topology>{t};
  } else {
    return t;
  }
}

/// The base of every operator: one operation for blocking calls, a pool for started ones, and the settings of both. An
/// operator may be destroyed before its requests are.
template <class Communicator, class Topology, class Op, class Payload>
class launcher {
  using transport_type = typename Communicator::transport_type;
  using topology_type = decltype(runnable<transport_type, Op, Payload>(std::declval<Topology const&>()));
  using schedule = typename schedule_of<topology_type, Op>::type;
  static_assert(identifiable<schedule>,
                "a topology that has state must tell it: give it topology_settings settings(rank_type n) const, a hash "
                "and a label of all that its schedules depend on, so that ranks that run different ones find out");
  using operation_type = operation<Communicator, schedule, Op, Payload>;

 public:
  launcher(Communicator& world, Topology const& topology, Payload const& payload)
      : world_(world.alias()),
        topology_(runnable<transport_type, Op, Payload>(topology)),
        blocking_(new operation_type(world, topology_, payload)),
        pool_(new operation_pool([](untyped_operation& one) noexcept { delete &static_cast<operation_type&>(one); })),
        on_device_(world_, topology_, payload),
        deadline_(world.deadline()) {
    if constexpr (!std::same_as<Payload, moving>) {
      payload.expect_room(world.size());
      function_ = payload.identity();
    }
    if constexpr (agrees_once) {
      agreed_ = topology_.settings(world.size());
    }
  }

  // Made public by `operator_base`, which has the contracts.
  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] topology_type const& topology() const noexcept { return topology_; }
  [[nodiscard]] duration deadline() const noexcept { return deadline_; }
  void deadline(duration d) { deadline_ = expect_deadline(d); }
  [[nodiscard]] std::size_t segment() const noexcept { return segment_; }
  void segment(std::size_t bytes) noexcept { segment_ = bytes; }
  [[nodiscard]] auto explain(std::size_t bytes) const
    requires chooses_schedule<topology_type, Op>
  {
    return topology_.explain(Op{}, bytes, needs);
  }

 protected:
  /// Inlined down to the start of the operation: the arguments stay in registers. Written to memory in parts and read
  /// as a whole, they would stall the processor.
  [[gnu::always_inline]] void run(Op op, Payload payload, call const& what, memories const& memory, std::size_t count) {
    call_guard guard(access::state(world_));
    auto const by = pick(op, payload, count);
    tell(blocking_->call_record(), what, op, count, by);
    expect_order(by.topology, blocking_->call_record());
    blocking_->start(by, op, payload, memory, count);
    blocking_->finish(deadline_);
    guard.end();
  }

  [[nodiscard]] operation_handle launch(Op op, Payload payload, call const& what, memories const& memory,
                                        std::size_t count) {
    call_guard guard(access::state(world_));
    progress_list::take(access::state(world_));
    auto const by = pick(op, payload, count);
    untyped_operation* const idle = pool_->take();
    operation_type& next = idle != nullptr ? static_cast<operation_type&>(*idle)
                                           : pool_->adopt(new operation_type(world_, topology_, payload, pool_.get()));
    next.set_limit(deadline_);
    try {
      tell(next.call_record(), what, op, count, by);
      expect_order(by.topology, next.call_record());
      next.start(by, op, payload, memory, count);
    } catch (...) {
      next.retire();
      throw;
    }
    operation_handle started(next);
    next.enlist();
    access::state(world_).advance_operations();  // its first messages leave now if their lanes are free
    guard.end();
    return started;
  }

  /// Enqueues an operation in a device's stream, after all earlier work there. `memory` is the device's.
  template <class Stream>
  void put(Op op, Payload payload, call const& what, memories const& memory, std::size_t count, Stream const& in) {
    call_guard guard(access::state(world_));
    call told;
    schedule_choice<schedule> const by{topology_, 0};
    tell(told, what, op, count, by);
    expect_order(by.topology, told);
    on_device_.enqueue(world_, op, payload, told, memory, count, deadline_, in);
    guard.end();
  }

 private:
  static constexpr bool picks = chooses_schedule<topology_type, Op>;
  static constexpr schedule_requirements needs{.in_rank_order = Payload::in_order,
                                               .may_aggregate = runs_helped<transport_type, Op, Payload, Topology>};
  static constexpr bool agrees_once = !picks && has_settings<topology_type>;

  /// Chooses schedule and segment size for this operation.
  [[nodiscard]] schedule_choice<schedule> pick(Op const& op, Payload const& payload, std::size_t count) const {
    if constexpr (picks) {
      auto by = topology_.choose(op, count * payload.size_of(memory::output), needs);
      by.segment_bytes = segment_ != 0 ? segment_ : by.segment_bytes;
      return by;
    } else {
      return {topology_, segment_};
    }
  }

  /// Writes the call record, by which ranks that run different schedules or segments are detected.
  ///
  /// `told` holds the previous operation's record. Only changed fields are written: copying a record that was just
  /// written in parts stalls the processor, since stores are forwarded only to loads that they cover. Four such copies
  /// were a fifth of a short operation.
  void tell(call& told, call const& what, Op const& op, std::size_t count, schedule_choice<schedule> const& by) const {
    auto const settings = settings_of(by.topology);
    std::uint32_t identity = what.identity ^ function_;
    if constexpr (has_settings<schedule>) {
      identity ^= settings.identity;
    }
    identity ^= static_cast<std::uint32_t>((by.segment_bytes * 0x9e3779b97f4a7c15U) >> 32);
    if (told.identity != identity || told.kind != what.kind) {
      told = what;
      if constexpr (has_settings<schedule>) {
        std::memcpy(told.topology, settings.label, sizeof told.topology);
      }
      told.identity = identity;
    }
    if (told.count != count) {
      told.count = count;
    }
    if constexpr (requires { op.root; }) {
      if (told.root != op.root) {
        told.root = op.root;
      }
    }
  }

  /// The settings of the schedule, which tell it from others of its type.
  [[nodiscard]] auto settings_of([[maybe_unused]] schedule const& by) const {
    if constexpr (picks && has_settings<schedule>) {
      return by.settings(world_.size());
    } else {
      return agreed_;
    }
  }

  /// Checks that the schedule, known only now if chosen at run time, combines in the order that the reduction needs.
  /// @throws precondition_error
  void expect_order([[maybe_unused]] schedule const& by, [[maybe_unused]] call const& told) const {
    if constexpr (Payload::in_order && !schedule::keeps_order) {
      if (!combines_in_order<Op>(by, world_.size())) [[unlikely]] {
        refuse_order(describe(told));
      }
    }
  }

  mutable Communicator world_;  ///< own name of the communicator; mutable, as a const operator runs operations
  struct nothing {};

  [[no_unique_address]] topology_type topology_;
  [[no_unique_address]] std::conditional_t<agrees_once, topology_settings, nothing> agreed_;
  owner<operation_type> blocking_;
  owner<operation_pool, operation_pool::leave> pool_;
  [[no_unique_address]] typename enqueued_part<Communicator, topology_type, Op, Payload>::type on_device_;
  duration deadline_;
  std::size_t segment_ = 0;
  std::uint32_t function_ = 0;  ///< identity of the reduction
};

}  // namespace tutti::detail::engine
