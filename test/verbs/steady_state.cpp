// SPDX-License-Identifier: Apache-2.0
// test: plain alone may_skip one_compiler (it watches the heap itself, and what it needs is in a guest)
#include <laws/steady_state.hpp>
#include <support/rdma_device.hpp>
#include <support/worlds.hpp>
#include <tutti/allocator.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

/// Complains if a prepared operation allocates or locks. Buffers are the transport's own: registering other memory
/// allocates.
template <class World>
std::string asks_for_anything(World& world, std::size_t count) {
  auto const buffer = [&] {
    return std::vector<float, tutti::allocator<float>>(count, 1, tutti::allocator<float>(world));
  };
  auto const input = buffer();
  auto output = buffer();
  std::string complaint;
  auto const law = [&](std::string const& name, auto operate) {
    auto const requests = laws::requests_of(world, 1, operate);
    if (requests.allocations + requests.locks != 0) {
      complaint += name + " of " + std::to_string(count) + " floats: " + laws::describe(requests) + "; ";
    }
  };
  tutti::allreduce doubling_sum{world, tutti::doubling{}, tutti::sum<float>{}};
  law("allreduce in place", [&] { doubling_sum(output); });
  tutti::allreduce mean{world, tutti::ring{}, laws::wide_mean{}};  // accumulators are in the engine's memory
  law("allreduce with accumulators that are no elements", [&] { mean(input, output); });
  tutti::send give{world};
  tutti::recv take{world};
  tutti::rank_type const n = world.size();
  law("send and recv", [&] {
    auto pending = give.start(input, (world.rank() + 1) % n);
    take(output, (world.rank() + n - 1) % n);
    pending.wait();
  });
  return complaint;
}

BOOST_AUTO_TEST_CASE(short_messages) {
  support::agree<tutti::verbs>(2, [](auto& world) { return asks_for_anything(world, 100); });
}
BOOST_AUTO_TEST_CASE(long_messages) {
  support::agree<tutti::verbs>(2, [](auto& world) { return asks_for_anything(world, 10'000); });
}

}  // namespace
