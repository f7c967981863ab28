// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/engine/device_launcher.hpp>
#include <tutti/detail/engine/lift_first.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/detail/engine/optional_aggregators.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>
#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline engine {

/// True if in-network aggregators can do what the payload needs; else the operation runs without
/// them.
template <class Transport, class Payload>
inline constexpr bool can_aggregate = [] {
  if constexpr (aggregates<Transport> && !is_known_at_run_time<Payload>) {
    return Transport::supports(Payload::in_network);
  } else {
    return false;
  }
}();

/// True if aggregators may be used where the topology has them. False if contributions must be lifted first and the
/// topology chooses at run time: its schedules are of one type, which `lift_first` cannot adapt.
template <class Transport, class Op, class Payload, class Topology>
inline constexpr bool uses_aggregators = [] {
  if constexpr (can_aggregate<Transport, Payload>) {
    return !(Payload::lifts_for_aggregators && chooses_schedule<Topology, Op>);
  } else {
    return false;
  }
}();

/// The topology to run for one with aggregators: without them, with lifting first, as each operation demands, or
/// unchanged.
template <class Transport, class Op, class Payload, class Topology>
[[nodiscard]] constexpr auto runnable_with_aggregators(Topology const& t) {
  if constexpr (is_known_at_run_time<Payload> && aggregates<Transport>) {
    if constexpr (chooses_schedule<Topology, Op>) {
      return t;
    } else {
      return optional_aggregators<Topology>(t);
    }
  } else if constexpr (!uses_aggregators<Transport, Op, Payload, Topology>) {
    return t.without_aggregators();
  } else if constexpr (Payload::lifts_for_aggregators) {
    return lift_first<Topology>{t};
  } else {
    return t;
  }
}

/// The topology to run for the one that the user gave.
template <class Transport, class Op, class Payload, class Topology>
[[nodiscard]] constexpr auto runnable(Topology const& t) {
  if constexpr (has_aggregators<Topology, Op>) {
    return runnable_with_aggregators<Transport, Op, Payload>(t);
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
  /// @throws precondition_error if an accumulator has no room for all ranks; std::bad_alloc
  launcher(Communicator& world, Topology const& topology, Payload const& payload)
      : world_(world.alias()),
        topology_(runnable<transport_type, Op, Payload>(topology)),
        blocking_(new operation_type(world, topology_, payload)),
        pool_(new operation_pool(
            [](untyped_operation& operation) noexcept { delete &static_cast<operation_type&>(operation); })),
        on_device_(world_, topology_, payload),
        deadline_(world.deadline()) {
    if constexpr (is_known_at_run_time<Payload>) {
      run_time_payload_ = payload;
    }
    if constexpr (!std::same_as<Payload, moving> && !is_known_at_run_time<Payload>) {
      payload.expect_room(world.size());
    }
    if constexpr (!std::same_as<Payload, moving>) {
      function_ = payload.identity();
    }
    if constexpr (has_fixed_settings) {
      fixed_settings_ = topology_.settings(world.size());
    }
  }

  // Made public by `operator_base`, which has the contracts.
  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] topology_type const& topology() const noexcept { return topology_; }
  [[nodiscard]] duration deadline() const noexcept { return deadline_; }
  void deadline(duration d) { deadline_ = expect_deadline(d); }
  [[nodiscard]] std::size_t segment() const noexcept { return segment_; }
  void segment(std::size_t bytes) noexcept { segment_ = bytes; }
  [[nodiscard]] std::string_view label() const noexcept { return label_.text; }
  void label(std::string_view text) noexcept { label_.set(text); }
  [[nodiscard]] auto explain(std::size_t bytes) const
    requires chooses_schedule<topology_type, Op>
  {
    return topology_.explain(Op{}, bytes, requirements(run_time_payload_));
  }

 protected:
  /// Starts an operation and waits for its end. `blocks`: the lengths of the blocks; null: they are equal. Inlined down
  /// to the start of the operation, so that the arguments stay in registers (compilers.md: Stores and loads of one
  /// width).
  /// @throws precondition_error if the call is refused (`call_guard`, `expect_rank_order`), and as `operation::start`
  /// and `segmented_operation::finish`
  [[gnu::always_inline]] void run(Op op, Payload payload, tutti::call const& call, memories const& memory,
                                  std::size_t count, lengths_of<Op> const* blocks = nullptr) {
    call_guard guard(access::state(world_));
    auto const choice = pick(op, payload, count, blocks);
    announce(*blocking_, payload, call, op, count, choice, blocks);
    blocking_->start(choice, op, payload, memory, count, blocks);
    blocking_->finish(deadline_);
    guard.end();
  }

  /// Starts an operation that later calls advance.
  /// @throws precondition_error if the call is refused, and as `operation::start`. Later errors are the operation's
  [[nodiscard]] operation_handle launch(Op op, Payload payload, tutti::call const& call, memories const& memory,
                                        std::size_t count, lengths_of<Op> const* blocks = nullptr) {
    call_guard guard(access::state(world_));
    progress_list::take(access::state(world_));
    auto const choice = pick(op, payload, count, blocks);
    untyped_operation* const idle = pool_->take();
    operation_type& next = idle != nullptr ? static_cast<operation_type&>(*idle)
                                           : pool_->adopt(new operation_type(world_, topology_, payload, pool_.get()));
    next.set_limit(deadline_);
    try {
      announce(next, payload, call, op, count, choice, blocks);
      next.start(choice, op, payload, memory, count, blocks);
    } catch (...) {
      next.retire();
      throw;
    }
    operation_handle handle(next);
    next.enlist();
    access::state(world_).advance_operations();  // its first messages leave now if their lanes are free
    guard.end();
    return handle;
  }

  /// Enqueues an operation in a device's stream, after all earlier work there. `memory` is the device's.
  /// @throws precondition_error if the call is refused, and as `enqueue` of the device's launcher
  template <class Stream>
  void launch_in_stream(Op op, Payload payload, tutti::call const& call, memories const& memory, std::size_t count,
                        Stream const& stream) {
    call_guard guard(access::state(world_));
    tutti::call record;
    schedule_choice<schedule> const choice{topology_, 0};
    write_call_record(record, true, call, op, count, choice, nullptr);
    expect_rank_order(payload, choice.topology, record);
    on_device_.enqueue(world_, op, payload, record, memory, count, deadline_, stream);
    guard.end();
  }

 private:
  static constexpr bool picks = chooses_schedule<topology_type, Op>;
  /// The demands of an operation on its schedule, but for its partition. `payload` matters if it is known at run time.
  template <class AnyPayload>
  [[nodiscard]] static constexpr schedule_requirements requirements([[maybe_unused]] AnyPayload const& payload) {
    if constexpr (!is_known_at_run_time<Payload>) {
      return {.in_rank_order = Payload::in_rank_order,
              .may_aggregate = uses_aggregators<transport_type, Op, Payload, Topology>};
    } else if constexpr (aggregates<transport_type>) {
      return {.in_rank_order = payload.entry->in_rank_order,
              .may_aggregate = transport_type::supports(payload.entry->code.in_network())};
    } else {
      return {.in_rank_order = payload.entry->in_rank_order};
    }
  }
  static constexpr bool has_fixed_settings = !picks && has_settings<topology_type>;

  /// Chooses schedule and segment size for this operation. @throws exceptions of the topology
  [[nodiscard]] schedule_choice<schedule> pick(Op const& op, Payload const& payload, std::size_t count,
                                               lengths_of<Op> const* blocks) const {
    std::size_t const size = payload.size_of(memory::output);
    if constexpr (picks) {
      schedule_requirements needs = requirements(payload);
      needs.share_class = blocks != nullptr ? blocks->share_class() : 0;
      auto choice = topology_.choose(op, count * size, needs);
      choice.segment_bytes = segment_bytes(choice.segment_bytes, size, blocks);
      return choice;
    } else {
      return {topology_, segment_bytes(0, size, blocks)};
    }
  }
  /// The segment size that the user set, or else the picked one, or else the one that suits the longest block.
  [[nodiscard]] std::size_t segment_bytes(std::size_t pick_bytes, [[maybe_unused]] std::size_t size,
                                          [[maybe_unused]] lengths_of<Op> const* blocks) const {
    std::size_t const request = segment_ != 0 ? segment_ : pick_bytes;
    if constexpr (takes_partition<Op>) {
      return request == 0 && blocks != nullptr ? segment_for(*blocks, size) : request;
    } else {
      return request;
    }
  }

  /// Writes the call record and the label of an operation, and checks the order in which its schedule combines.
  /// @throws precondition_error like `expect_rank_order`
  [[gnu::always_inline]] void announce(untyped_operation& operation, Payload const& payload, tutti::call const& call,
                                       Op const& op, std::size_t count, schedule_choice<schedule> const& choice,
                                       lengths_of<Op> const* blocks) const {
    bool const is_relabelled = operation.label_number() != label_.number;
    write_call_record(operation.call_record(), is_relabelled, call, op, count, choice, blocks);
    if (is_relabelled) [[unlikely]] {
      operation.set_label(label_);
    }
    expect_rank_order(payload, choice.topology, operation.call_record());
  }

  /// Writes the call record, by which ranks that run different schedules or segments are detected.
  ///
  /// `record` holds the previous operation's record, unless it `is_new`. Only changed fields are written: copying a
  /// record that was just written in parts stalls the processor, since stores are forwarded only to loads that they
  /// cover. Four such copies were a fifth of a short operation.
  [[gnu::always_inline]] void write_call_record(call& record, bool is_new, tutti::call const& call, Op const& op,
                                                std::size_t count, schedule_choice<schedule> const& choice,
                                                lengths_of<Op> const* blocks) const {
    auto const settings = settings_of(choice.topology);
    std::uint32_t identity = call.identity ^ function_;
    if constexpr (has_settings<schedule>) {
      identity ^= settings.identity;
    }
    identity ^= static_cast<std::uint32_t>((choice.segment_bytes * 0x9e3779b97f4a7c15U) >> 32);
    if (blocks != nullptr) {
      identity ^= blocks->identity();
    }
    if (record.identity != identity || is_new) {
      record = call;
      if constexpr (has_settings<schedule>) {
        std::memcpy(record.topology, settings.label, sizeof record.topology);
      }
      record.identity = identity;
      if (blocks != nullptr && !blocks->is_equal_cut()) {
        record.partition = static_cast<std::uint16_t>(blocks->identity() >> 16 | 1U);
      }
    }
    if (record.count != count) {
      record.count = count;
    }
    if constexpr (requires { op.root; }) {
      if (record.root != op.root) {
        record.root = op.root;
      }
    }
  }

  /// The settings of the schedule, which tell it from others of its type.
  [[nodiscard]] auto settings_of([[maybe_unused]] schedule const& topology) const {
    if constexpr (picks && has_settings<schedule>) {
      return topology.settings(world_.size());
    } else {
      return fixed_settings_;
    }
  }

  /// Checks that the schedule, known only now if chosen at run time, combines in the order that the reduction needs.
  /// @throws precondition_error
  void expect_rank_order([[maybe_unused]] Payload const& payload, [[maybe_unused]] schedule const& topology,
                         [[maybe_unused]] call const& record) const {
    if constexpr (!schedule::keeps_rank_order) {
      if (requirements(payload).in_rank_order && !combines_in_rank_order<Op>(topology, world_.size())) [[unlikely]] {
        refuse_rank_order(describe(record));
      }
    }
  }

  mutable Communicator world_;  ///< own name of the communicator; mutable, as a const operator runs operations
  struct no_settings {};
  struct no_payload {};

  [[no_unique_address]] topology_type topology_;
  [[no_unique_address]] std::conditional_t<has_fixed_settings, topology_settings, no_settings> fixed_settings_;
  owner<operation_type> blocking_;
  owner<operation_pool, operation_pool::leave> pool_;
  [[no_unique_address]] typename device_launcher<Communicator, topology_type, Op, Payload>::type on_device_;
  duration deadline_;
  std::size_t segment_ = 0;
  std::uint32_t function_ = 0;  ///< identity of the reduction
  untyped_operation::numbered_label label_;
  /// The reduction of construction, where it is known at run time.
  [[no_unique_address]] std::conditional_t<is_known_at_run_time<Payload>, Payload, no_payload> run_time_payload_{};
};

}  // namespace tutti::detail::engine
