// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <models/thread_groups.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/cuda/detail/device/kernels.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

/// Thread groups that run a schedule give the bits that the engine gives.
namespace laws {

namespace op = tutti::op;
using tutti::rank_type;
using tutti::detail::memories;
namespace on_device = tutti::detail::device;

/// One operation of a world, for the engine and for thread groups.
template <class Op, class R>
struct device_case {
  Op operation;
  R reduction;
  rank_type n;
  std::size_t count;
  bool in_place;

  using contribution = tutti::contribution_t<R>;
  using value = typename R::value_type;
  static constexpr bool combines = tutti::combines(tutti::detail::verify::kind_of<Op>);

  /// Values whose sizes differ enough for the order of additions to show in the bits.
  [[nodiscard]] std::vector<contribution> input(rank_type r) const {
    std::mt19937 draw(r * 7919 + static_cast<unsigned>(count));
    std::vector<contribution> v(count);
    for (contribution& x : v) {
      double const number = std::ldexp(static_cast<double>(draw() % 4096) - 2048, -static_cast<int>(draw() % 34));
      x = static_cast<contribution>(static_cast<float>(number));
    }
    return v;
  }
  /// The range (first, size) of the vector that a rank contributes.
  [[nodiscard]] std::pair<std::size_t, std::size_t> contribution_range(rank_type r) const {
    if constexpr (std::is_same_v<Op, op::allgather>) {
      return block_range(r);
    } else if constexpr (std::is_same_v<Op, op::broadcast>) {
      return {0, r == operation.root ? count : 0};
    } else {
      return {0, count};
    }
  }
  /// The range (first, size) of the vector that is a rank's result.
  [[nodiscard]] std::pair<std::size_t, std::size_t> result_range(rank_type r) const {
    if constexpr (std::is_same_v<Op, op::reduce_scatter>) {
      return block_range(r);
    } else if constexpr (std::is_same_v<Op, op::reduce>) {
      return {0, r == operation.root ? count : 0};
    } else {
      return {0, count};
    }
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> block_range(rank_type r) const {
    return {tutti::block_begin(count, n, r), tutti::block_size(count, n, r)};
  }
};

/// The engine's result on each rank.
template <class Op, class R, class Topology>
[[nodiscard]] std::vector<std::vector<typename R::value_type>> of_engine(device_case<Op, R> const& c,
                                                                         Topology const& topology) {
  using value = typename R::value_type;
  auto const results = tutti::spawn<tutti::loopback>(c.n, [&](auto& world) {
    rank_type const me = world.rank();
    auto const [begin, size] = c.result_range(me);
    auto const input = c.input(me);
    std::vector<value> output(size);
    if constexpr (std::is_same_v<Op, op::allreduce>) {
      tutti::allreduce{world, topology, c.reduction}(input, output);
    } else if constexpr (std::is_same_v<Op, op::reduce>) {
      tutti::reduce{world, topology, c.reduction}(input, output, c.operation.root);
    } else if constexpr (std::is_same_v<Op, op::reduce_scatter>) {
      tutti::reduce_scatter{world, topology, c.reduction}(input, output);
    } else if constexpr (std::is_same_v<Op, op::allgather>) {
      auto const [input_begin, input_size] = c.contribution_range(me);
      std::vector<value> const block(input.begin() + static_cast<std::ptrdiff_t>(input_begin),
                                     input.begin() + static_cast<std::ptrdiff_t>(input_begin + input_size));
      tutti::allgather{world, topology}(block, output);
    } else {
      output = std::vector<value>(input.begin(), input.end());
      tutti::broadcast{world, topology}(output, c.operation.root);
    }
    return output;
  });
  std::vector<std::vector<value>> outputs;
  for (auto const& result : results) {
    outputs.push_back(result.value());
  }
  return outputs;
}

/// One rank's memory, and the operations on it.
template <class Op, class R>
class device_rank {
 public:
  using value = typename R::value_type;
  using contribution = tutti::contribution_t<R>;
  static constexpr bool combines = device_case<Op, R>::combines;
  static constexpr bool work_fits = !combines || tutti::accumulates_in_elements<R>;

  template <class Topology>
  device_rank(device_case<Op, R> const& c, Topology const& topology, rank_type me)
      : case_(c),
        me_(me),
        input_(c.input(me)),
        output_(c.count),
        steps_(topology, c.operation, c.n, me, {.input_is_output = c.in_place, .work_is_output = work_fits}) {
    set();
  }

  /// Restores the memory before the operation: a caller may overwrite its memory as soon as an operation has ended.
  void set() {
    auto const contributions = case_.input(me_);
    std::fill(output_.begin(), output_.end(), value(-77.0F));
    if (case_.in_place) {
      if constexpr (std::is_same_v<value, contribution>) {
        auto const [begin, size] = case_.contribution_range(me_);
        std::copy_n(contributions.begin() + static_cast<std::ptrdiff_t>(begin), size,
                    output_.begin() + static_cast<std::ptrdiff_t>(begin));
      }
    } else {
      input_ = contributions;
    }
  }
  void spoil() {
    std::fill(output_.begin(), output_.end(), value(-99.0F));
    std::fill(input_.begin(), input_.end(), contribution(-99.0F));
  }

  [[nodiscard]] on_device::operation operation() {
    auto* const output = reinterpret_cast<std::byte*>(output_.data());
    memories m;
    m.input = case_.in_place ? output : reinterpret_cast<std::byte const*>(input_.data());
    m.output = output;
    m.work = work_fits ? output : nullptr;  // null: in scratch memory
    return {.table = steps_.view(), .buffers = m, .count = case_.count, .call_record = {.count = 7}, .number = 1};
  }
  /// @param parts at least `groups`
  template <class G>
  void run(G const& g, on_device::board const& board, std::uint32_t group, std::uint32_t groups, std::uint32_t parts) {
    if constexpr (combines) {
      using payload = on_device::group_combining<R>;
      run_group(g, on_device::steps_kernel<payload>{board, operation(), groups, parts, payload{case_.reduction}},
                group);
    } else {
      using payload = on_device::group_moving;
      run_group(g, on_device::steps_kernel<payload>{board, operation(), groups, parts, payload{sizeof(value)}}, group);
    }
  }
  [[nodiscard]] bool has(std::vector<value> const& expected) const {
    auto const [begin, size] = case_.result_range(me_);
    return size == 0 || std::memcmp(output_.data() + begin, expected.data(), size * sizeof(value)) == 0;
  }

 private:
  device_case<Op, R> const& case_;
  rank_type me_;
  std::vector<contribution> input_;
  std::vector<value> output_;
  on_device::step_list steps_;
};

/// The way an operation is run: on threads if `seed` is 0, otherwise on fibers in an order drawn from it.
struct device_shape {
  std::uint32_t groups = 1;
  std::uint32_t threads = 1;
  std::uint64_t seed = 0;
  std::uint32_t parts = groups;  ///< the number of parts that blocks are cut into
  bool apart = false;            ///< ranks reach only each other's scratch memory
};

/// The scratch memory of a single group: blocks of all ranks, with room for alignment.
template <class R>
[[nodiscard]] std::size_t scratch_for(std::size_t count, bool apart) {
  return (apart ? 4 : 2) * (count + 16 * 48) * sizeof(typename R::accumulator_type);
}

/// Runs three operations in a row, whose caller changes its memory in between; returns a complaint or "".
template <class Op, class R, class Topology>
[[nodiscard]] std::string device_has_bits_of_engine(device_case<Op, R> const& c, Topology const& topology,
                                                    device_shape const& shape) {
  auto const expected = of_engine(c, topology);
  std::vector<device_rank<Op, R>> ranks;
  ranks.reserve(c.n);
  for (rank_type r = 0; r != c.n; ++r) {
    ranks.emplace_back(c, topology, r);
  }
  models::device_world world(c.n, shape.groups, scratch_for<R>(c.count, shape.apart), shape.apart);
  std::atomic<unsigned> wrong = 0;
  auto const run = [&](rank_type r, std::uint32_t group, auto const& g) {
    ranks[r].run(g, world.board_of(r), group, shape.groups, shape.parts);
  };
  for (int i = 0; i != 3 && wrong == 0; ++i) {
    bool has_ended = true;
    if (shape.seed == 0) {
      models::run_as_threads(c.n, shape.groups, shape.threads, run);
    } else {
      // A rank's memory is overwritten as soon as that rank has ended, whatever the others do.
      std::vector<std::uint32_t> under_way(c.n, shape.groups * shape.threads);
      has_ended = models::run_as_fibers(c.n, shape.groups, shape.threads, shape.seed + static_cast<unsigned>(i),
                                        [&](rank_type r, std::uint32_t group, auto const& g) {
                                          run(r, group, g);
                                          if (--under_way[r] == 0) {
                                            wrong += ranks[r].has(expected[r]) ? 0U : 1U;
                                            ranks[r].spoil();
                                          }
                                        });
    }
    for (rank_type r = 0; r != c.n; ++r) {
      wrong += shape.seed != 0 || ranks[r].has(expected[r]) ? 0U : 1U;
      wrong += world.stop(r) || world.first_failed(r) != 0 || world.busy(r) ? 1U : 0U;
      ranks[r].set();
    }
    if (!has_ended || wrong != 0) {
      return std::string(name(tutti::detail::verify::kind_of<Op>)) + " by " +
             std::string(tutti::identity_of(topology, c.n).label) + ", " + std::string(R::name) + " of " +
             std::to_string(c.count) + ", " + std::to_string(c.n) + " ranks, " + std::to_string(shape.groups) +
             " groups of " + std::to_string(shape.threads) + ", " + std::to_string(shape.parts) + " parts, seed " +
             std::to_string(shape.seed) + (c.in_place ? ", in place" : "") + (shape.apart ? ", apart" : "") +
             (has_ended ? ": other bits than the engine's" : ": it does not end");
    }
  }
  return {};
}

/// Checks that the fused forms of `direct` give the engine's bits; bit r of `in_place` says that rank r works in
/// place.
template <rank_type N, class R>
[[nodiscard]] std::string fused_has_bits_of_engine(R reduction, std::size_t count, std::uint32_t in_place,
                                                   bool in_one_hop, std::uint64_t seed, bool apart) {
  using law = device_case<op::allreduce, R>;
  law const distinct{{}, reduction, N, count, false};
  law const in_place_law{{}, reduction, N, count, true};
  auto const expected = of_engine(distinct, tutti::direct{});
  std::vector<device_rank<op::allreduce, R>> ranks;
  for (rank_type r = 0; r != N; ++r) {
    ranks.emplace_back((in_place >> r & 1U) != 0 ? in_place_law : distinct, tutti::direct{}, r);
  }
  auto const groups = static_cast<std::uint32_t>(1 + seed % 3);
  auto const parts = static_cast<std::uint32_t>(groups + seed / 3 % 3);
  models::device_world world(N, groups, scratch_for<R>(count, apart), apart);
  unsigned wrong = 0;
  bool has_ended = true;
  for (std::uint64_t i = 0; i != 3 && has_ended && wrong == 0; ++i) {
    std::vector<std::uint32_t> under_way(N, groups * 2);
    has_ended = models::run_as_fibers(
        N, groups, 2, 3 * seed + i, [&](rank_type r, std::uint32_t group, models::fiber_group const& g) {
          using kernel = on_device::direct_kernel<R, N>;
          run_group(g, kernel{world.board_of(r), ranks[r].operation(), groups, parts, in_one_hop, reduction}, group);
          wrong += world.first_failed(r) == 0 ? 0U : 1U;
          if (--under_way[r] == 0) {
            wrong += ranks[r].has(expected[r]) ? 0U : 1U;
            ranks[r].spoil();
          }
        });
    for (auto& r : ranks) {
      r.set();
    }
  }
  return has_ended && wrong == 0
             ? ""
             : std::string("direct, fused, ") + (in_one_hop ? "in one hop, " : "in one pass, ") + std::string(R::name) +
                   " of " + std::to_string(count) + ", " + std::to_string(N) + " ranks, in place " +
                   std::to_string(in_place) + ", seed " + std::to_string(seed) + (apart ? ", apart" : "") +
                   (has_ended ? ": other bits than the engine's" : ": it does not end");
}

}  // namespace laws
