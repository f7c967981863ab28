// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The schedule of an in-network aggregator, as far as the engine needs it.
struct aggregator_summary {
  std::vector<aggregation_worker> workers{};  ///< in the order of the aggregator's first message from or to each
  block_range blocks{};                       ///< blocks of every message to and from the aggregator
  memory source_memory = memory::input;

  /// Reads the summary from the schedule. Allocates only for more workers than ever before.
  /// @pre the aggregator has at most one message from each rank and one to each, all of the same blocks
  template <class Topology, class Op>
    requires has_aggregators<Topology, Op>
  void read(Topology const& t, Op const& op, rank_type n, rank_type aggregator) {
    fill(workers, worker_indices_, t, op, n, aggregator);
  }

  /// The index of a rank among the workers, or no_rank.
  [[nodiscard]] rank_type worker_index_of(rank_type r) const noexcept {
    return r < worker_indices_.size() ? worker_indices_[r] : no_rank;
  }

 private:
  /// A template on the vector, so that it is compiled only for topologies with aggregators.
  template <class Workers, class Indices, class Topology, class Op>
  void fill(Workers& entries, Indices& indices, Topology const& t, Op const& op, rank_type n, rank_type aggregator) {
    auto const worker = [&](rank_type r) -> aggregation_worker& {
      if (indices[r] == no_rank) {
        indices[r] = static_cast<rank_type>(entries.size());
        entries.emplace_back(aggregation_worker{.rank = r});
      }
      return entries[indices[r]];
    };
    entries.clear();
    indices.assign(n, no_rank);
    for (std::uint32_t i = 0; i != t.steps(op, n, aggregator); ++i) {
      const step s = t.at(op, n, aggregator, i);
      if (s.receives()) {
        blocks = s.receive.blocks;
        source_memory = s.sender_memory;
        worker(s.receive.peer).contributes = true;
      }
      if (s.sends()) {
        worker(s.send.peer).receives = true;
      }
    }
  }

  std::vector<rank_type> worker_indices_{};  ///< index among the workers, by rank
};

/// An aggregator_summary with the index of one rank in it.
struct aggregator_share {
  aggregator_summary const* summary;
  rank_type worker_index;  ///< index of the rank among the workers, or no_rank
};

/// The parts of one rank at all in-network aggregators of an operation.
struct aggregator_shares {
  std::vector<aggregator_summary> summaries{};
  std::vector<aggregator_share> shares{};

  template <class Topology, class Op>
  void read(Topology const& t, Op const& op, rank_type n, rank_type me) {
    summaries.resize(members(t, op, n) - n);
    fill(summaries, shares, t, op, n, me);
  }

 private:
  template <class Summaries, class Shares, class Topology, class Op>
  static void fill(Summaries& summaries, Shares& shares, Topology const& t, Op const& op, rank_type n, rank_type me) {
    shares.clear();
    for (std::size_t i = 0; i != summaries.size(); ++i) {
      summaries[i].read(t, op, n, n + static_cast<rank_type>(i));
      shares.push_back({&summaries[i], summaries[i].worker_index_of(me)});
    }
  }
};

}  // namespace tutti::detail::engine
