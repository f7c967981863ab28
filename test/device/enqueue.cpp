// SPDX-License-Identifier: Apache-2.0
// test: thread (ranks, streams and groups are threads that share memory)
//
// Operators put into streams of a model of a device have the engine's bits.
#include <laws/device.hpp>
#include <models/host_device.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using tutti::device_span;
using tutti::rank_type;
using transport = models::host_peers<tutti::loopback>;
namespace op = tutti::op;

template <class T>
device_span<T> on_device(std::vector<T>& v) {
  return {v.data(), v.size()};
}
template <class T>
device_span<T const> to_read(std::vector<T> const& v) {
  return {v.data(), v.size()};
}

[[nodiscard]] tutti::world_options<transport> two_groups() {
  tutti::world_options<transport> o;
  o.transport.groups = 2;
  o.transport.scratch_bytes = 16384;
  return o;
}

/// The operator of an operation, as one that takes what a rank gives and what it gets.
template <class R, class Topology>
auto putting(op::allreduce, auto& world, Topology const& t, R r, auto& stream) {
  return [run = tutti::allreduce{world, t, r}, &stream](auto const& in, auto& out) mutable {
    run.enqueue(to_read(in), on_device(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::reduce_scatter, auto& world, Topology const& t, R r, auto& stream) {
  return [run = tutti::reduce_scatter{world, t, r}, &stream](auto const& in, auto& out) mutable {
    run.enqueue(to_read(in), on_device(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::reduce what, auto& world, Topology const& t, R r, auto& stream) {
  return [run = tutti::reduce{world, t, r}, &stream, what](auto const& in, auto& out) mutable {
    run.enqueue(to_read(in), on_device(out), what.root, stream);
  };
}
template <class R, class Topology>
auto putting(op::allgather, auto& world, Topology const& t, R, auto& stream) {
  return [run = tutti::allgather{world, t}, &stream](auto const& in, auto& out) mutable {
    run.enqueue(to_read(in), on_device(out), stream);
  };
}
template <class R, class Topology>
auto putting(op::broadcast what, auto& world, Topology const& t, R, auto& stream) {
  return [run = tutti::broadcast{world, t}, &stream, what](auto const& in, auto& out) mutable {
    std::copy(in.begin(), in.end(), out.begin());
    run.enqueue(on_device(out), what.root, stream);
  };
}

/// What ranks get of an operation that is put into a stream three times.
template <class Op, class R, class Topology>
void enqueue(laws::device_case<Op, R> const& c, Topology const& topology) {
  using value = typename R::value_type;
  auto const wanted = laws::of_engine(c, topology);
  auto const results = tutti::spawn<transport>(
      c.n,
      [&](auto& world) {
        auto const all = c.input(world.rank());
        auto const [from, own] = c.given(world.rank());
        std::vector<typename laws::device_case<Op, R>::contribution> const in(
            all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(from + own));
        std::vector<std::vector<value>> outs(3, std::vector<value>(c.wanted(world.rank()).second, value(-77.0F)));
        models::device_stream stream;
        auto put = putting(c.what, world, topology, c.reduction, stream);
        for (auto& out : outs) {
          put(in, out);
        }
        tutti::detail::device::stream_wait(world, stream).run();
        return outs;
      },
      two_groups());
  for (rank_type r = 0; r != c.n; ++r) {
    for (auto const& out : results[r].value()) {
      BOOST_TEST(out.size() == wanted[r].size());
      BOOST_TEST((out.empty() || std::memcmp(out.data(), wanted[r].data(), out.size() * sizeof(value)) == 0),
                 tutti::identity_of(topology, c.n).label << ", " << R::name << " of " << c.count << ", rank " << r
                                                         << " of " << c.n);
    }
  }
}
template <class Op, class R, class... Topology>
void on_topologies(Op what, R reduction, Topology const&... topology) {
  for (rank_type const n : {1U, 2U, 3U, 4U}) {
    if constexpr (requires { what.root; }) {
      what.root = n - 1;
    }
    for (std::size_t const count : {std::size_t{0}, std::size_t{257}, std::size_t{40'001}}) {
      (enqueue(laws::device_case<Op, R>{what, reduction, n, count, false}, topology), ...);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(allreduce) {
  on_topologies(op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, tutti::ring{}, tutti::doubling{});
}
BOOST_AUTO_TEST_CASE(allreduce_with_large_accumulators) {
  on_topologies(op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{}, tutti::ring{});
}
BOOST_AUTO_TEST_CASE(reduce) {
  on_topologies(op::reduce{}, tutti::sum<float>{}, tutti::direct{}, tutti::ring{});
}
BOOST_AUTO_TEST_CASE(reduce_scatter) {
  on_topologies(op::reduce_scatter{}, tutti::mean<float>{}, tutti::ring{}, tutti::butterfly{});
}
BOOST_AUTO_TEST_CASE(allgather) {
  on_topologies(op::allgather{}, tutti::sum<float>{}, tutti::ring{}, tutti::doubling{});
}
BOOST_AUTO_TEST_CASE(broadcast) {
  on_topologies(op::broadcast{}, tutti::sum<float>{}, tutti::direct{}, tutti::doubling{});
}
