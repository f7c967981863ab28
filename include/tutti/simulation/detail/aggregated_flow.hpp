// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/simulation/detail/messages.hpp>

#include <compare>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

class simulated_world;

/// The key of one flow at one aggregator.
struct aggregated_flow_key {
  rank_type aggregator;
  std::uint32_t lane;
  std::uint32_t number;

  friend constexpr auto operator<=>(aggregated_flow_key const&, aggregated_flow_key const&) = default;
};

/// Marks of the workers of a flow. Marks are only set, so the first worker without one is found in constant amortised
/// time.
class worker_marks {
 public:
  explicit worker_marks(std::size_t workers) : marks_(workers) {}

  void set(std::size_t worker) { marks_[worker] = true; }

  /// The rank of the first contributing worker without a mark, or no_rank.
  [[nodiscard]] rank_type first_missing(std::vector<aggregation_worker> const& workers) noexcept {
    while (first_ != workers.size() && (!workers[first_].contributes || marks_[first_])) {
      ++first_;
    }
    return first_ == workers.size() ? no_rank : workers[first_].rank;
  }

 private:
  std::vector<bool> marks_;
  std::size_t first_ = 0;
};

/// State of one flow at a simulated aggregator: workers arrive, contributions reach it, results leave to workers that
/// want them.
struct aggregated_flow {
  aggregated_flow(simulated_world& owner, aggregated_flow_key const& flow_key, aggregation_part const& part,
                  simulated_opening first_opening)
      : world(&owner),
        key(flow_key),
        opening(first_opening),
        workers(part.workers.begin(), part.workers.end()),
        contents(workers.size()),
        known_contributions(workers.size()),
        sent_contributions(workers.size()),
        bytes(part.bytes) {
    for (aggregation_worker const& worker : workers) {
      unknown_count += worker.contributes ? 1U : 0U;
    }
    outstanding_count = unknown_count;
  }

  struct waiter {
    rank_type rank;
    picoseconds arrival_time;
  };

  simulated_world* world;
  aggregated_flow_key key;
  simulated_opening opening;  ///< the call of the first worker that arrived
  std::vector<aggregation_worker> workers;
  std::vector<std::vector<std::byte>> contents;  ///< by worker: the elements it contributed
  worker_marks known_contributions;              ///< the workers whose contribution is known
  worker_marks sent_contributions;               ///< the workers whose contribution has left them, in virtual time
  std::size_t bytes;
  std::size_t arrived_count = 0;             ///< workers that have arrived at this flow
  std::size_t unknown_count = 0;             ///< contributions that are not known yet
  std::size_t outstanding_count = 0;         ///< contributions that have not reached the aggregator yet
  std::vector<waiter> waiters{};             ///< arrived workers that have not been sent the result
  std::vector<std::byte>* result = nullptr;  ///< the result; overwrites the first contribution
  picoseconds head{};                        ///< arrival of the first packet of the last contribution
  picoseconds tail{};                        ///< arrival of the last byte of all contributions

  /// Adds a contribution; its contents may be simulated by their length alone. The last contribution combines all of
  /// them, in the order of the workers.
  void contribute(aggregation_part const& part, std::span<std::byte const> contribution) {
    contents[part.worker].assign(contribution.begin(), contribution.end());
    known_contributions.set(part.worker);
    if (--unknown_count != 0) {
      return;
    }
    for (std::size_t i = 0; i != workers.size(); ++i) {
      if (workers[i].contributes && result == nullptr) {
        result = &contents[i];
      } else if (workers[i].contributes && !contents[i].empty()) {
        part.combine(part.context, result->data(), contents[i].data(), contents[i].size());
      }
    }
  }

  /// A rank whose contribution has not left it, or no_rank.
  [[nodiscard]] rank_type missing() noexcept { return sent_contributions.first_missing(workers); }
  /// A rank that has not contributed, or no_rank. If that rank is gone, the flow never completes.
  [[nodiscard]] rank_type first_without_contribution() noexcept { return known_contributions.first_missing(workers); }
  /// True if no worker will refer to this flow again.
  [[nodiscard]] bool is_complete() const noexcept { return outstanding_count == 0 && arrived_count == workers.size(); }
};

}  // namespace tutti::detail::simulation
