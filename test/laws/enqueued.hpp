// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/device.hpp>
#include <laws/device_array.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/cuda/detail/device/launcher.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/topology/ring.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

/// Operators that are enqueued in streams of a device, or of a model of one, give the engine's bits.
namespace laws {

/// The content of a rank's output before an operation: its input where both are one memory, elsewhere a value that is
/// no result.
template <class Op, class R>
[[nodiscard]] std::vector<typename R::value_type> output_before(device_case<Op, R> const& c, rank_type me) {
  using value = typename R::value_type;
  std::vector<value> output(c.result_range(me).second, value(-77.0F));
  if constexpr (std::is_same_v<value, typename device_case<Op, R>::contribution>) {
    if (c.in_place || std::is_same_v<Op, op::broadcast>) {
      auto const contributions = c.input(me);
      auto const [begin, count] = c.contribution_range(me);
      if (begin + count <= output.size()) {
        std::copy_n(contributions.begin() + static_cast<std::ptrdiff_t>(begin), count,
                    output.begin() + static_cast<std::ptrdiff_t>(begin));
      }
    }
  }
  return output;
}

/// The operator of an operation, called with the addresses of a rank's input and output. In place, the input is not
/// read.
template <class R, class Topology>
auto make_enqueue(op::allreduce, auto& world, Topology const& t, R r, auto& stream, bool in_place) {
  return [run = tutti::allreduce{world, t, r}, &stream, in_place](auto input, auto output) mutable {
    if constexpr (tutti::contributes_elements<R>) {
      if (in_place) {
        return run.enqueue(output, stream);
      }
    }
    run.enqueue(input, output, stream);
  };
}
template <class R, class Topology>
auto make_enqueue(op::reduce_scatter, auto& world, Topology const& t, R r, auto& stream, bool) {
  return [run = tutti::reduce_scatter{world, t, r}, &stream](auto input, auto output) mutable {
    run.enqueue(input, output, stream);
  };
}
template <class R, class Topology>
auto make_enqueue(op::reduce operation, auto& world, Topology const& t, R r, auto& stream, bool) {
  return [run = tutti::reduce{world, t, r}, &stream, operation](auto input, auto output) mutable {
    run.enqueue(input, output, operation.root, stream);
  };
}
template <class R, class Topology>
auto make_enqueue(op::allgather, auto& world, Topology const& t, R, auto& stream, bool in_place) {
  return [run = tutti::allgather{world, t}, &stream, in_place](auto input, auto output) mutable {
    if (in_place) {
      return run.enqueue(output, stream);
    }
    run.enqueue(input, output, stream);
  };
}
template <class R, class Topology>
auto make_enqueue(op::broadcast operation, auto& world, Topology const& t, R, auto& stream, bool) {
  return [run = tutti::broadcast{world, t}, &stream, operation](auto, auto output) mutable {
    run.enqueue(output, operation.root, stream);
  };
}

/// The three outputs of a rank from an operation that is enqueued three times in a row.
template <class Op, class R, class Topology, class Stream>
[[nodiscard]] std::vector<typename R::value_type> enqueued_three_times(auto& world, device_case<Op, R> const& c,
                                                                       Topology const& topology, Stream& stream) {
  using value = typename R::value_type;
  using contribution = typename device_case<Op, R>::contribution;
  auto const contributions = c.input(world.rank());
  auto const [begin, size] = c.contribution_range(world.rank());
  device_array<contribution, Stream> const input({contributions.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  contributions.begin() + static_cast<std::ptrdiff_t>(begin + size)},
                                                 stream);
  std::vector<device_array<value, Stream>> outputs;
  for (int i = 0; i != 3; ++i) {
    outputs.emplace_back(output_before(c, world.rank()), stream);
  }
  auto enqueue = make_enqueue(c.operation, world, topology, c.reduction, stream, c.in_place);
  tutti::barrier{world, tutti::ring{}}();  // allocation may wait for operations of others
  for (auto const& output : outputs) {
    enqueue(tutti::device_span<contribution const>(input.span()), output.span());
  }
  tutti::detail::device::stream_wait(world, stream).run();
  std::vector<value> results_in_order;
  for (auto const& output : outputs) {
    auto const& values = output.values(stream);
    results_in_order.insert(results_in_order.end(), values.begin(), values.end());
  }
  tutti::barrier{world, tutti::ring{}}();  // operators are destroyed when no rank has an operation under way
  return results_in_order;
}

/// Compares enqueued operations with the engine's bits, over ranks, lengths and roots, in place or not; returns a
/// complaint or "". All cases of one number of ranks use one world and its streams: the first use of a GPU costs a
/// process a second.
template <class Transport, class Op, class R, class... Topology>
[[nodiscard]] std::string enqueued_have_bits_of_engine(tutti::world_options<Transport> const& options,
                                                       std::vector<rank_type> const& ranks,
                                                       std::vector<std::size_t> const& counts, Op operation,
                                                       R reduction, Topology const&... topology) {
  using value = typename R::value_type;
  for (rank_type const n : ranks) {
    if constexpr (requires { operation.root; }) {
      operation.root = n - 1;
    }
    std::vector<device_case<Op, R>> cases;
    for (std::size_t const count : counts) {
      for (bool const in_place : {false, true}) {
        cases.push_back({operation, reduction, n, count, in_place});
      }
    }
    auto const results = tutti::spawn<Transport>(
        n,
        [&](auto& world) {
          typename Transport::stream_type stream;
          std::vector<value> results_in_order;
          for (auto const& c : cases) {
            (
                [&] {
                  auto const values = enqueued_three_times(world, c, topology, stream);
                  results_in_order.insert(results_in_order.end(), values.begin(), values.end());
                }(),
                ...);
          }
          return results_in_order;
        },
        options);
    std::string wrong;
    std::vector<std::size_t> at(n);
    auto const compare = [&](device_case<Op, R> const& c, auto const& schedule) {
      auto const expected = of_engine(c, schedule);
      for (rank_type r = 0; r != n; ++r) {
        auto const& actual = results[r].value();
        for (int i = 0; i != 3; ++i) {
          std::size_t const size = expected[r].size();
          bool const right =
              at[r] + size <= actual.size() &&
              (size == 0 || std::memcmp(actual.data() + at[r], expected[r].data(), size * sizeof(value)) == 0);
          if (!right && wrong.empty()) {
            wrong = std::string(name(tutti::detail::verify::kind_of<Op>)) + " by " +
                    std::string(tutti::identity_of(schedule, n).label) + ", " + std::string(R::name) + " of " +
                    std::to_string(c.count) + ", rank " + std::to_string(r) + " of " + std::to_string(n) +
                    (c.in_place ? ", in place" : "") + ": other bits than the engine's";
          }
          at[r] += size;
        }
      }
    };
    for (auto const& c : cases) {
      (compare(c, topology), ...);
    }
    for (rank_type r = 0; r != n; ++r) {
      if (wrong.empty() && at[r] != results[r].value().size()) {
        wrong = "rank " + std::to_string(r) + " has more elements than the engine's";
      }
    }
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace laws
