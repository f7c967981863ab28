// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/device.hpp>
#include <models/host_device.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

/// Operators that are put into streams of a model of a device have the engine's bits.
namespace laws {

template <class T>
[[nodiscard]] tutti::device_span<T> device_memory(std::vector<T>& v) {
  return {v.data(), v.size()};
}
template <class T>
[[nodiscard]] tutti::device_span<T const> device_memory(std::vector<T> const& v) {
  return {v.data(), v.size()};
}

/// The operator of an operation, as one that takes what a rank gives and what it gets. In place it gets what it gives.
template <class R, class Topology>
auto putting(op::allreduce, auto& world, Topology const& t, R r, auto& stream, bool in_place) {
  return [run = tutti::allreduce{world, t, r}, &stream, in_place](auto const& in, auto& out) mutable {
    if constexpr (tutti::contributes_elements<R>) {
      if (in_place) {
        std::copy(in.begin(), in.end(), out.begin());
        return run.enqueue(device_memory(out), stream);
      }
    }
    run.enqueue(device_memory(in), device_memory(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::reduce_scatter, auto& world, Topology const& t, R r, auto& stream, bool) {
  return [run = tutti::reduce_scatter{world, t, r}, &stream](auto const& in, auto& out) mutable {
    run.enqueue(device_memory(in), device_memory(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::reduce what, auto& world, Topology const& t, R r, auto& stream, bool) {
  return [run = tutti::reduce{world, t, r}, &stream, what](auto const& in, auto& out) mutable {
    run.enqueue(device_memory(in), device_memory(out), what.root, stream);
  };
}
template <class R, class Topology>
auto putting(op::allgather, auto& world, Topology const& t, R, auto& stream, bool in_place) {
  rank_type const me = world.rank();
  rank_type const n = world.size();
  return [run = tutti::allgather{world, t}, &stream, in_place, me, n](auto const& in, auto& out) mutable {
    if (in_place) {
      std::copy(in.begin(), in.end(), out.begin() + static_cast<std::ptrdiff_t>(tutti::block_begin(out.size(), n, me)));
      return run.enqueue(device_memory(out), stream);
    }
    run.enqueue(device_memory(in), device_memory(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::broadcast what, auto& world, Topology const& t, R, auto& stream, bool) {
  return [run = tutti::broadcast{world, t}, &stream, what](auto const& in, auto& out) mutable {
    std::copy(in.begin(), in.end(), out.begin());
    run.enqueue(device_memory(out), what.root, stream);
  };
}

/// What is wrong with what ranks get of an operation that is put into a stream three times; "" if nothing.
template <class Transport, class Op, class R, class Topology>
[[nodiscard]] std::string enqueued_has_bits_of_engine(device_case<Op, R> const& c, Topology const& topology,
                                                      tutti::world_options<Transport> const& options) {
  using value = typename R::value_type;
  auto const wanted = of_engine(c, topology);
  auto const results = tutti::spawn<Transport>(
      c.n,
      [&](auto& world) {
        auto const drawn = c.input(world.rank());
        auto const [from, own] = c.given(world.rank());
        std::vector<typename device_case<Op, R>::contribution> const in(
            drawn.begin() + static_cast<std::ptrdiff_t>(from), drawn.begin() + static_cast<std::ptrdiff_t>(from + own));
        std::vector<std::vector<value>> outs(3, std::vector<value>(c.wanted(world.rank()).second, value(-77.0F)));
        models::device_stream stream;
        auto put = putting(c.what, world, topology, c.reduction, stream, c.in_place);
        for (auto& out : outs) {
          put(in, out);
        }
        tutti::detail::device::stream_wait(world, stream).run();
        std::vector<value> all;
        for (auto const& out : outs) {
          all.insert(all.end(), out.begin(), out.end());
        }
        return all;
      },
      options);
  for (rank_type r = 0; r != c.n; ++r) {
    std::vector<value> all;
    for (int i = 0; i != 3; ++i) {
      all.insert(all.end(), wanted[r].begin(), wanted[r].end());
    }
    auto const& got = results[r].value();
    if (got.size() != all.size() ||
        (!all.empty() && std::memcmp(got.data(), all.data(), all.size() * sizeof(value)) != 0)) {
      return std::string(name(tutti::detail::symbolic::kind_of<Op>)) + " by " +
             std::string(tutti::identity_of(topology, c.n).label) + ", " + std::string(R::name) + " of " +
             std::to_string(c.count) + ", rank " + std::to_string(r) + " of " + std::to_string(c.n) +
             (c.in_place ? ", in place" : "") + ": other bits than the engine's";
    }
  }
  return {};
}

/// Over ranks, lengths and roots, in place or not.
template <class Transport, class Op, class R, class... Topology>
[[nodiscard]] std::string enqueued_have_bits_of_engine(tutti::world_options<Transport> const& options,
                                                       std::vector<rank_type> const& ranks,
                                                       std::vector<std::size_t> const& counts, Op what, R reduction,
                                                       Topology const&... topology) {
  std::string wrong;
  for (rank_type const n : ranks) {
    if constexpr (requires { what.root; }) {
      what.root = n - 1;
    }
    for (std::size_t const count : counts) {
      for (bool const in_place : {false, true}) {
        device_case<Op, R> const c{what, reduction, n, count, in_place};
        ((wrong = wrong.empty() ? enqueued_has_bits_of_engine<Transport>(c, topology, options) : wrong), ...);
      }
    }
  }
  return wrong;
}

}  // namespace laws
