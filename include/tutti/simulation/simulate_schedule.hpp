// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/flow_numbers.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/extent.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/simulation/simulated_transport.hpp>

#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Reserves the addresses of a vector without its memory: a write to them is a segmentation fault.
class address_space {
 public:
  /// @throws std::system_error if the process may not reserve as many addresses
  explicit address_space(std::size_t bytes)
      : bytes_(bytes != 0 ? bytes : 1),
        begin_(::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (begin_ == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(),
                              "simulate_schedule: no address space for the " + std::to_string(bytes_) +
                                  " bytes of a vector; allow more (ulimit -v), or simulate a shorter vector");
    }
  }
  address_space(address_space const&) = delete;
  address_space& operator=(address_space const&) = delete;
  ~address_space() { ::munmap(begin_, bytes_); }

  [[nodiscard]] std::byte* begin() const noexcept { return static_cast<std::byte*>(begin_); }

 private:
  std::size_t bytes_;
  void* begin_;
};

/// The parts of a communicator that the engine's segments use. A full communicator knows all other members, and
/// 65,536 full communicators do not fit into memory.
class simulated_rank {
 public:
  using transport_type = simulated_transport;
  using trace_type = no_trace;

  simulated_rank(simulator& sim, simulated_world& world, rank_type rank)
      : owned_state_(std::make_unique<state>(sim, world, rank)), state_(*owned_state_) {}

  /// Returns another name of this rank, which this object must outlive.
  [[nodiscard]] simulated_rank alias() const noexcept { return simulated_rank(state_); }

  [[nodiscard]] rank_type rank() const noexcept { return state_.transport.rank(); }
  [[nodiscard]] tutti::extent<dynamic> extent() const noexcept {
    return tutti::extent<dynamic>(state_.transport.size());
  }
  [[nodiscard]] simulated_transport& transport() noexcept { return state_.transport; }
  [[nodiscard]] no_trace& trace() noexcept { return state_.trace; }

 private:
  friend access;

  struct state {
    state(simulator& sim, simulated_world& world, rank_type rank)
        : transport(simulated_access::member(sim, world, rank)) {}

    simulated_transport transport;
    [[no_unique_address]] no_trace trace;
    flow_numbers flows;
  };

  explicit simulated_rank(state& shared_state) noexcept : state_(shared_state) {}

  [[nodiscard]] state& get_state() const noexcept { return state_; }

  std::unique_ptr<state> owned_state_;  // empty in a name that `alias` returned
  state& state_;
};

}  // namespace detail

/// The vector that a simulated schedule works on.
struct simulated_vector {
  std::size_t count;                  ///< elements in all blocks; for alltoall a multiple of n
  std::size_t element_bytes = 4;      ///< size of an element, and of an accumulator
  std::size_t segment_bytes = 0;      ///< segment size, see operator_base::segment
  partition const* blocks = nullptr;  ///< lengths of the blocks, whose sum is `count`; null: they are equal
};

/// Runs one operation of `n` ranks in virtual time, out of place; all ranks start at 0. Engine and schedule are real
/// and elements are not, so tens of thousands of ranks fit into one thread.
///
///     auto const report = tutti::simulate_schedule(net, tutti::butterfly{}, tutti::op::allreduce{}, 65536, {1 << 20});
///     report.time();
///
/// Cost: 7 KiB a rank; 0.2 to 2.5 us of real time a message (docs/guide/simulation.md).
/// @throws error if the operation never ends: a rank has died, or a message was lost for good
/// @throws precondition_error if network, placement and faults do not fit each other
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] simulated_report simulate_schedule(simulated_network const& net, Topology topology, Op op, rank_type n,
                                                 simulated_vector vector, simulation_options const& options = {}) {
  using arguments_type = detail::operation_arguments<Topology, Op, detail::moving>;
  struct participant {
    participant(detail::simulator& sim, detail::simulated_world& world, rank_type r, arguments_type const& arguments)
        : self(sim, world, r),
          operation(self, call_record, number, arguments.template schedule<tutti::extent<dynamic>>(),
                    detail::payload(arguments.elements_, self.extent())) {}
    detail::simulated_rank self;
    call call_record;
    operation_number number;
    detail::segments<detail::simulated_rank, false> operation;
    bool is_complete = false;
  };

  if constexpr (std::same_as<Op, op::alltoall>) {
    expects(n == 0 || vector.count % n == 0,
            "simulate_schedule: the elements of an alltoall must be a multiple of the ", n, " ranks, not ",
            vector.count);
  }
  std::size_t const* begins = nullptr;
  if (vector.blocks != nullptr) {
    partition const& blocks = *vector.blocks;
    expects(takes_partition<Op> && blocks.size() == n && blocks.count() == vector.count,
            "simulate_schedule: a partition is for an allgather, reduce_scatter, gather or scatter of its number of "
            "ranks, ",
            blocks.size(), ", and of elements, ", blocks.count(), ", not for ", n, " ranks and ", vector.count,
            " elements");
    begins = blocks.begins().data();
    if (vector.segment_bytes == 0) {
      vector.segment_bytes = detail::segment_for(topology, op, blocks, vector.element_bytes);
    }
  }
  detail::simulator sim(net, n, options, /*carries=*/false);
  std::vector<rank_type> all_ranks(n);
  for (rank_type r = 0; r < n; ++r) {
    all_ranks[r] = r;
  }
  detail::simulated_world& world = sim.world(sim.add_world(std::move(all_ranks)));

  std::size_t const bytes = vector.count * vector.element_bytes;
  detail::address_space const addresses(3 * bytes);  // three distinct memories, so the operation counts as out of place
  std::byte* const at = addresses.begin();
  detail::memories const memory{.input = at, .work = at + bytes, .output = at + 2 * bytes};
  arguments_type arguments(topology, {vector.element_bytes});
  arguments.op_ = op;
  call const call_record = make_call(operation_kind::none, "", "", Topology::name);

  simulated_report report;
  report.end_times.resize(n);
  std::deque<participant> ranks;
  rank_type left = n;
  std::vector<detail::aggregator_summary> aggregators(members(topology, op, n) - n);
  std::vector<detail::aggregator_share> shares;  // by rank: its shares of all aggregators
  if constexpr (has_aggregators<Topology, Op>) {
    shares.resize(std::size_t{n} * aggregators.size());
    for (std::size_t i = 0; i != aggregators.size(); ++i) {
      aggregators[i].read(topology, op, n, n + static_cast<rank_type>(i));
      for (rank_type r = 0; r != n; ++r) {
        shares[r * aggregators.size() + i] = {&aggregators[i], aggregators[i].worker_index_of(r)};
      }
    }
  }
  auto const advance = [&](rank_type r) {
    if (ranks[r].operation.advance()) {
      ranks[r].is_complete = true;
      report.end_times[r] = sim.processors().time_of(r);
      --left;
    } else {
      sim.processors().rest(r);
    }
  };
  for (rank_type r = 0; r < n; ++r) {
    ranks.emplace_back(sim, world, r, arguments);
    ranks[r].call_record = call_record;
    ranks[r].operation.set_schedule(topology.steps(op, n, r), topology.blocks(op, n), false);
    ranks[r].operation.set_aggregators(std::span(shares).subspan(r * aggregators.size(), aggregators.size()));
    ranks[r].operation.prepare(vector.segment_bytes, memory, vector.count, begins);
    ranks[r].operation.take_numbers();
    sim.processors().rest(r);
    sim.processors().wake(r);
  }
  while (left != 0) {
    rank_type const r = sim.next();
    if (r == no_rank || sim.processors().is_dead(r) || world.first_fault) {
      bool const has_dead_rank = !sim.processors().deaths().empty();
      throw error(has_dead_rank ? failure::peer_lost : failure::deadline,
                  has_dead_rank ? "the simulated operation cannot end: rank " +
                                      std::to_string(sim.processors().deaths().front()) + " has died"
                                : "the simulated operation cannot end: a message was lost " +
                                      std::to_string(options.faults.attempts) +
                                      " times; raise simulated_faults::attempts, or lower loss")
          .set_ranks(no_rank, has_dead_rank ? sim.processors().deaths() : std::vector<rank_type>{});
    }
    advance(r);
  }
  auto const end_times = std::move(report.end_times);
  report = sim.report();
  report.end_times = end_times;
  return report;
}

}  // namespace tutti
