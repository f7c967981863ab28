// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/tuning/tuner.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/star.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// Runs several choices of schedule in turns, so that a disturbance affects all alike, and finds the fastest.
template <class Communicator>
class trials {
  template <class Op, class T>
  class runner;

 public:
  /// True if choices with in-network aggregators may be tried on elements of this type.
  template <class Op, class T>
  static constexpr bool may_try_aggregators =
      can_aggregate<typename Communicator::transport_type, typename runner<Op, T>::payload>;

  explicit trials(Communicator& world)
      : world_(world),
        barrier_(world, doubling{}, sum<std::int32_t>{}),
        agree_(world, doubling{}, max<std::int64_t>{}) {}

  /// The index of the fastest choice in `ways`, equal on all ranks. Each choice gets `turns` turns of about `turn`
  /// each, and their median counts. Collective. Overwrites the vector.
  /// @pre ways are not empty, and are the same on all ranks
  /// @throws error
  template <class Op, class T>
  [[nodiscard]] std::size_t fastest(Op op, std::span<prediction const> ways, std::span<T> vector, std::size_t turns,
                                    duration turn) {
    using operation = runner<Op, T>;
    std::fill(vector.begin(), vector.end(), T{});
    std::vector<std::unique_ptr<operation>> candidates;
    for (prediction const& p : ways) {
      candidates.push_back(std::make_unique<operation>(world_, op, p.way, vector));
      for (std::uint32_t lane = 0; lane < collective_lanes; ++lane) {  // each lane has its own memory to copy to
        candidates.back()->run();
      }
    }
    std::vector<std::int64_t> times;
    for (std::size_t turn_index = 0; turn_index < turns; ++turn_index) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        auto const expected = std::max<std::int64_t>(ways[i].time / 1000, 1);
        times.push_back(time(*candidates[i], std::clamp<std::int64_t>(turn.count() / expected, 1, 1000)));
      }
    }
    agree_(times);
    return least_median(times, ways.size());
  }

 private:
  template <class T>
  class runner<op::allreduce, T> {
   public:
    using payload = combining<sum<T>>;
    runner(Communicator& world, op::allreduce, schedule_choice<selection> const& way, std::span<T> vector)
        : run_(world, way.topology, sum<T>{}), vector_(vector) {
      run_.segment(way.segment_bytes);
    }
    void run() { run_(vector_); }
    [[nodiscard]] static constexpr bool counts() noexcept { return true; }

   private:
    allreduce<Communicator, selection, sum<T>> run_;
    std::span<T> vector_;
  };

  /// A broadcast ends at the root when every rank has answered with one message, so the root measures the slowest
  /// rank, and that message.
  template <class T>
  class runner<op::broadcast, T> {
   public:
    using payload = moving;
    runner(Communicator& world, op::broadcast op, schedule_choice<selection> const& way, std::span<T> vector)
        : run_(world, way.topology), answer_(world, star{}, sum<std::int32_t>{}), vector_(vector), root_(op.root) {
      run_.segment(way.segment_bytes);
    }
    void run() {
      std::array<std::int32_t, 1> dummy{};
      run_(vector_, root_);
      answer_(dummy, root_);
    }
    [[nodiscard]] bool counts() const noexcept { return run_.world().rank() == root_; }

   private:
    broadcast<Communicator, selection> run_;
    reduce<Communicator, star, sum<std::int32_t>> answer_;
    std::span<T> vector_;
    rank_type root_;
  };

  /// Nanoseconds per operation, measured over `times` operations; 0 on a rank that cannot tell.
  template <class Runner>
  [[nodiscard]] std::int64_t time(Runner& operation, std::int64_t times) {
    std::array<std::int32_t, 1> dummy{};
    barrier_(dummy);
    access::state(world_).wait_policy = {};  // resets the backoff, as if each rank had a core
    auto const begin = world_.transport().now();
    for (std::int64_t i = 0; i < times; ++i) {
      operation.run();
    }
    return operation.counts() ? (world_.transport().now() - begin).count() / times : 0;
  }

  [[nodiscard]] static std::size_t least_median(std::span<std::int64_t const> times, std::size_t ways) {
    std::vector<std::int64_t> choice_times(times.size() / ways);
    std::size_t best = 0;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < ways; ++i) {
      for (std::size_t turn = 0; turn < choice_times.size(); ++turn) {
        choice_times[turn] = times[turn * ways + i];
      }
      auto const middle = choice_times.begin() + static_cast<std::ptrdiff_t>(choice_times.size() / 2);
      std::nth_element(choice_times.begin(), middle, choice_times.end());
      if (*middle < least) {
        least = *middle;
        best = i;
      }
    }
    return best;
  }

  Communicator& world_;
  allreduce<Communicator, doubling, sum<std::int32_t>> barrier_;
  allreduce<Communicator, doubling, max<std::int64_t>> agree_;
};

}  // namespace tutti::detail::tuning
