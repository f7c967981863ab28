// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/device.hpp>
#include <models/host_stager.hpp>
#include <tutti/detail/engine/gate.hpp>
#include <tutti/topology/selection.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

/// Operations on device memory that is staged through host memory give the same bits as operations on host memory, and
/// write nothing else.
namespace laws {

/// The operators of one kind of operation, on host memory and on a device's.
template <class Op, class World, class Topology, class R>
class both_operators {
 public:
  both_operators(Op operation, World& world, Topology const& t, R r) : operation_(operation), run_(make(world, t, r)) {}

  /// @param output the rank's result; all elements if they are one vector
  void on_host(auto const& input, auto& output) {
    if constexpr (std::is_same_v<Op, op::broadcast>) {
      run_(output, operation_.root);
    } else if constexpr (std::is_same_v<Op, op::reduce>) {
      run_(input, output, operation_.root);
    } else {
      run_(input, output);
    }
  }
  void on_device(auto const& input, auto& output, models::device_stream const& stream) {
    using models::in_device;
    if constexpr (std::is_same_v<Op, op::broadcast>) {
      run_.enqueue(in_device(output), operation_.root, stream);
    } else if constexpr (std::is_same_v<Op, op::reduce>) {
      run_.enqueue(in_device(input), in_device(output), operation_.root, stream);
    } else {
      run_.enqueue(in_device(input), in_device(output), stream);
    }
  }
  void in_place_on_device(auto& data, models::device_stream const& stream) {
    using models::in_device;
    if constexpr (requires { operation_.root; }) {
      run_.enqueue(in_device(data), operation_.root, stream);
    } else {
      run_.enqueue(in_device(data), stream);
    }
  }

 private:
  static auto make(World& world, Topology const& t, [[maybe_unused]] R r) {
    if constexpr (std::is_same_v<Op, op::allreduce>) {
      return tutti::allreduce{world, t, r};
    } else if constexpr (std::is_same_v<Op, op::reduce>) {
      return tutti::reduce{world, t, r};
    } else if constexpr (std::is_same_v<Op, op::reduce_scatter>) {
      return tutti::reduce_scatter{world, t, r};
    } else if constexpr (std::is_same_v<Op, op::allgather>) {
      return tutti::allgather{world, t};
    } else {
      return tutti::broadcast{world, t};
    }
  }

  Op operation_;
  decltype(make(std::declval<World&>(), std::declval<Topology>(), std::declval<R>())) run_;
};

/// A value that no operation gives.
template <class T>
[[nodiscard]] T out_of_sevens() {
  std::array<unsigned char, sizeof(T)> bytes;
  bytes.fill(0x77);
  return std::bit_cast<T>(bytes);
}

/// Runs three operations at a time, in two streams, on one rank of a world; returns a complaint or "".
template <class Op, class R, class World, class Topology>
[[nodiscard]] std::string staged_has_bits_of_host(device_case<Op, R> const& c, World& world, Topology const& topology,
                                                  std::array<models::device_stream, 2> const& streams) {
  using value = typename R::value_type;
  using contribution = tutti::contribution_t<R>;
  rank_type const me = world.rank();
  auto const contributions = c.input(me);
  auto const [input_begin, input_size] = c.contribution_range(me);
  auto const [output_begin, output_size] = c.result_range(me);
  auto const at = [](auto const& v, std::size_t i) { return v.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<contribution> const input(at(contributions, input_begin), at(contributions, input_begin + input_size));
  value const poison = out_of_sevens<value>();
  bool const writes_all = std::is_same_v<Op, op::broadcast>;

  both_operators<Op, World, Topology, R> run(c.operation, world, topology, c.reduction);
  std::vector<value> expected(writes_all ? c.count : output_size, poison);
  if constexpr (writes_all) {
    std::copy(input.begin(), input.end(), expected.begin());
  }
  auto const initial_output = expected;
  run.on_host(input, expected);

  std::string wrong;
  std::array<std::vector<value>, 3> outputs;
  for (std::size_t i = 0; i != outputs.size(); ++i) {
    auto& output = outputs[i];
    if constexpr (writes_all) {
      output = initial_output;
      run.on_device(input, output, streams[i % 2]);
    } else if constexpr (std::is_same_v<value, contribution>) {
      if (c.in_place) {
        output.assign(c.count, poison);
        std::copy(input.begin(), input.end(), output.begin() + static_cast<std::ptrdiff_t>(input_begin));
        run.in_place_on_device(output, streams[i % 2]);
      } else {
        output = initial_output;
        run.on_device(input, output, streams[i % 2]);
      }
    } else {
      output = initial_output;
      run.on_device(input, output, streams[i % 2]);
    }
  }
  for (auto const& stream : streams) {
    tutti::detail::device::wait_for_staged(world, stream);
  }
  for (auto const& output : outputs) {
    std::size_t const first = output.size() == expected.size() ? 0 : output_begin;
    bool good =
        expected.empty() || std::memcmp(output.data() + first, expected.data(), expected.size() * sizeof(value)) == 0;
    if (c.in_place && output.size() != expected.size()) {  // elements of other ranks are unchanged
      for (std::size_t i = 0; i != output.size(); ++i) {
        bool const is_output = i >= output_begin && i - output_begin < expected.size();
        bool const is_given = i >= input_begin && i - input_begin < input_size;
        if constexpr (std::is_same_v<value, contribution>) {
          value const was = is_given ? input[i - input_begin] : poison;
          good = good && (is_output || std::memcmp(&output[i], &was, sizeof was) == 0);
        }
      }
    }
    if (!good) {
      wrong = std::string(name(tutti::detail::verify::kind_of<Op>)) + " by " +
              std::string(tutti::identity_of(topology, c.n).label) + ", " + std::string(R::name) + " of " +
              std::to_string(c.count) + ", rank " + std::to_string(me) + " of " + std::to_string(c.n) +
              (c.in_place ? ", in place; " : "; ");
    }
  }
  return wrong;
}

/// The parameters of a world.
struct staged_shape {
  rank_type ranks = 1;
  std::size_t slot_bytes = 1024;
  std::uint32_t slot_count = 8;
  unsigned lateness = 0;  ///< the largest delay of a copy
};

/// Runs f(world, topology, streams) with each topology that needs no in-network aggregators; returns a complaint of
/// any rank, or "".
template <class Host, class F>
[[nodiscard]] std::string on_staged_ranks(staged_shape const& shape, F const& f) {
  using transport = models::host_staged<Host>;
  tutti::world_options<transport> options;
  options.deadline = std::chrono::seconds(60);
  options.transport.slot_bytes = shape.slot_bytes;
  options.transport.slot_count = shape.slot_count;
  models::host_stager::lateness = shape.lateness;
  auto const results = tutti::spawn<transport>(
      shape.ranks,
      [&](auto& world) -> std::string {
        std::array<models::device_stream, 2> const streams;
        std::string wrong;
        for (auto const kind : tutti::all_schedule_kinds) {
          if (!tutti::selection::groups_hosts(kind) && kind != tutti::schedule_kind::in_network) {
            wrong += f(world, tutti::selection(kind), streams);
          }
        }
        return wrong;
      },
      options);
  std::string complaints_of_ranks;
  for (auto const& result : results) {
    complaints_of_ranks += result.value();
  }
  return complaints_of_ranks;
}

/// Runs all operations, in place and out of place, with these lengths.
template <class Host, class R>
[[nodiscard]] std::string staged_operations(staged_shape const& shape, R reduction,
                                            std::vector<std::size_t> const& counts) {
  rank_type const n = shape.ranks;
  return on_staged_ranks<Host>(shape, [&](auto& world, auto const& topology, auto const& streams) {
    std::string wrong;
    auto const run_all = [&](auto operation, bool in_place) {
      for (std::size_t const count : counts) {
        wrong += staged_has_bits_of_host(device_case<decltype(operation), R>{operation, reduction, n, count, in_place},
                                         world, topology, streams);
      }
    };
    for (bool const in_place : {false, true}) {
      run_all(op::allreduce{}, in_place);
      run_all(op::reduce{n - 1}, in_place);
      run_all(op::reduce_scatter{}, in_place);
      if constexpr (std::is_same_v<typename R::value_type, tutti::contribution_t<R>>) {
        run_all(op::allgather{}, in_place);
        run_all(op::broadcast{n / 2}, in_place);
      }
    }
    return wrong;
  });
}

}  // namespace laws
