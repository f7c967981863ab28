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
  std::vector<value> out(c.wanted(me).second, value(-77.0F));
  if constexpr (std::is_same_v<value, typename device_case<Op, R>::contribution>) {
    if (c.in_place || std::is_same_v<Op, op::broadcast>) {
      auto const drawn = c.input(me);
      auto const [from, count] = c.given(me);
      if (from + count <= out.size()) {
        std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(from), count,
                    out.begin() + static_cast<std::ptrdiff_t>(from));
      }
    }
  }
  return out;
}

/// The operator of an operation, called with the addresses of a rank's input and output. In place, the input is not
/// read.
template <class R, class Topology>
auto putting(op::allreduce, auto& world, Topology const& t, R r, auto& stream, bool in_place) {
  return [run = tutti::allreduce{world, t, r}, &stream, in_place](auto in, auto out) mutable {
    if constexpr (tutti::contributes_elements<R>) {
      if (in_place) {
        return run.enqueue(out, stream);
      }
    }
    run.enqueue(in, out, stream);
  };
}
template <class R, class Topology>
auto putting(op::reduce_scatter, auto& world, Topology const& t, R r, auto& stream, bool) {
  return
      [run = tutti::reduce_scatter{world, t, r}, &stream](auto in, auto out) mutable { run.enqueue(in, out, stream); };
}
template <class R, class Topology>
auto putting(op::reduce what, auto& world, Topology const& t, R r, auto& stream, bool) {
  return [run = tutti::reduce{world, t, r}, &stream, what](auto in, auto out) mutable {
    run.enqueue(in, out, what.root, stream);
  };
}
template <class R, class Topology>
auto putting(op::allgather, auto& world, Topology const& t, R, auto& stream, bool in_place) {
  return [run = tutti::allgather{world, t}, &stream, in_place](auto in, auto out) mutable {
    if (in_place) {
      return run.enqueue(out, stream);
    }
    run.enqueue(in, out, stream);
  };
}
template <class R, class Topology>
auto putting(op::broadcast what, auto& world, Topology const& t, R, auto& stream, bool) {
  return [run = tutti::broadcast{world, t}, &stream, what](auto, auto out) mutable {
    run.enqueue(out, what.root, stream);
  };
}

/// The three outputs of a rank from an operation that is enqueued three times in a row.
template <class Op, class R, class Topology, class Stream>
[[nodiscard]] std::vector<typename R::value_type> enqueued_three_times(auto& world, device_case<Op, R> const& c,
                                                                       Topology const& topology, Stream& stream) {
  using value = typename R::value_type;
  using contribution = typename device_case<Op, R>::contribution;
  auto const drawn = c.input(world.rank());
  auto const [from, own] = c.given(world.rank());
  device_array<contribution, Stream> const in(
      {drawn.begin() + static_cast<std::ptrdiff_t>(from), drawn.begin() + static_cast<std::ptrdiff_t>(from + own)},
      stream);
  std::vector<device_array<value, Stream>> outs;
  for (int i = 0; i != 3; ++i) {
    outs.emplace_back(output_before(c, world.rank()), stream);
  }
  auto put = putting(c.what, world, topology, c.reduction, stream, c.in_place);
  tutti::barrier{world, tutti::ring{}}();  // allocation may wait for operations of others
  for (auto const& out : outs) {
    put(tutti::device_span<contribution const>(in.span()), out.span());
  }
  tutti::detail::device::stream_wait(world, stream).run();
  std::vector<value> all;
  for (auto const& out : outs) {
    auto const& values = out.values(stream);
    all.insert(all.end(), values.begin(), values.end());
  }
  tutti::barrier{world, tutti::ring{}}();  // operators are destroyed when no rank has an operation under way
  return all;
}

/// Compares enqueued operations with the engine's bits, over ranks, lengths and roots, in place or not; returns a
/// complaint or "". All cases of one number of ranks use one world and its streams: the first use of a GPU costs a
/// process a second.
template <class Transport, class Op, class R, class... Topology>
[[nodiscard]] std::string enqueued_have_bits_of_engine(tutti::world_options<Transport> const& options,
                                                       std::vector<rank_type> const& ranks,
                                                       std::vector<std::size_t> const& counts, Op what, R reduction,
                                                       Topology const&... topology) {
  using value = typename R::value_type;
  for (rank_type const n : ranks) {
    if constexpr (requires { what.root; }) {
      what.root = n - 1;
    }
    std::vector<device_case<Op, R>> cases;
    for (std::size_t const count : counts) {
      for (bool const in_place : {false, true}) {
        cases.push_back({what, reduction, n, count, in_place});
      }
    }
    auto const results = tutti::spawn<Transport>(
        n,
        [&](auto& world) {
          typename Transport::stream_type stream;
          std::vector<value> all;
          for (auto const& c : cases) {
            (
                [&] {
                  auto const values = enqueued_three_times(world, c, topology, stream);
                  all.insert(all.end(), values.begin(), values.end());
                }(),
                ...);
          }
          return all;
        },
        options);
    std::string wrong;
    std::vector<std::size_t> at(n);
    auto const compare = [&](device_case<Op, R> const& c, auto const& by) {
      auto const wanted = of_engine(c, by);
      for (rank_type r = 0; r != n; ++r) {
        auto const& got = results[r].value();
        for (int i = 0; i != 3; ++i) {
          std::size_t const size = wanted[r].size();
          bool const right =
              at[r] + size <= got.size() &&
              (size == 0 || std::memcmp(got.data() + at[r], wanted[r].data(), size * sizeof(value)) == 0);
          if (!right && wrong.empty()) {
            wrong = std::string(name(tutti::detail::verify::kind_of<Op>)) + " by " +
                    std::string(tutti::identity_of(by, n).label) + ", " + std::string(R::name) + " of " +
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
