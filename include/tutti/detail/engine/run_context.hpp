// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/aggregator_share.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline engine {

/// A schedule with its type erased: steps come through one pointer, so that the engine is compiled once for all
/// topologies and operations.
struct schedule_view {
  void (*step_at)(void const* arguments, rank_type n, rank_type me, std::uint32_t i, step& result);
  void const* arguments;
  bool blocks_have_owners;
  std::uint32_t steps = 0;   ///< steps of this rank
  std::uint32_t blocks = 1;  ///< blocks of the vector
  /// True if `first` is step 0 of every run: short operations have no other step.
  bool has_first = false;
  step first{};
  /// This rank's part at each in-network aggregator, in order of their numbers.
  std::span<aggregator_share const> aggregators{};
};

/// State that the segments of one operation share.
template <class Communicator>
struct run_context {
  typename Communicator::transport_type& transport;
  typename Communicator::trace_type& trace;
  [[no_unique_address]] decltype(std::declval<Communicator>().extent()) extent;
  rank_type rank;
  schedule_view schedule;
  tutti::detail::payload payload;
  tutti::detail::memories memories;
  operation_number& number;

  /// Step `i` of this rank; `storage` is memory that it may use.
  [[gnu::always_inline]] step const& step_at(std::uint32_t i, step& storage) const {
    if (i == 0 && schedule.has_first) {
      return schedule.first;
    }
    schedule.step_at(schedule.arguments, extent, rank, i, storage);
    return storage;
  }

  /// Records an event of the operation, if a trace listens.
  void note(event_kind kind, std::uint32_t step_number = 0, std::string_view text = {}) {
    tutti::record(trace, [&] { return event{kind, transport.now(), number, {}, step_number, no_rank, 0, text}; });
  }
  /// Records an event of a message, at an earlier time.
  void note(event_kind kind, time_point time, flow message_flow, std::uint32_t step_number, rank_type peer,
            std::size_t bytes) {
    tutti::record(trace, [&] { return event{kind, time, number, message_flow, step_number, peer, bytes, {}}; });
  }
  /// The time, if a trace listens.
  [[nodiscard]] time_point traced_now() { return listens(trace) ? transport.now() : time_point{}; }

  /// Runs the arithmetic `f`, or leaves that to a transport that keeps its own time.
  template <class F>
  void compute(std::size_t bytes, F f) {
    if constexpr (computes<typename Communicator::transport_type>) {
      transport.compute(bytes, f);
    } else {
      f();
    }
  }
};

}  // namespace tutti::detail::engine
