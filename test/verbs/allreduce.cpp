// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <support/rdma_device.hpp>
#include <tutti/tutti.hpp>
#include <tutti/verbs/verbs.hpp>

#include <boost/test/unit_test.hpp>

namespace {

/// Returns "" if the sums over one topology are right on every rank, for all lengths; the sums are integers below
/// 2^24.
template <class Topology>
std::string sums(tutti::rank_type n, Topology topology) {
  auto const results = tutti::spawn<tutti::verbs>(n, [&](auto& world) -> std::string {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    for (std::size_t const count :
         {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{100'003}, std::size_t{1} << 20}) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i % 1000 + world.rank());
      }
      sum(values);
      for (std::size_t i = 0; i < count; ++i) {
        if (values[i] != static_cast<float>(i % 1000 * n + n * (n - 1) / 2)) {
          return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
        }
      }
    }
    return "";
  });
  std::string wrong;
  for (auto const& r : results) {
    wrong += r ? r.value() : r.failure().text;
  }
  return wrong;
}

BOOST_AUTO_TEST_CASE(ring) {
  for (tutti::rank_type const n : {2U, 4U, 8U}) {
    BOOST_TEST(sums(n, tutti::ring{}) == "");
  }
}
BOOST_AUTO_TEST_CASE(doubling) {
  for (tutti::rank_type const n : {2U, 4U, 8U}) {
    BOOST_TEST(sums(n, tutti::doubling{}) == "");
  }
}

/// A split world finds its device as its parent did.
BOOST_AUTO_TEST_CASE(parts) {
  auto const results = tutti::spawn<tutti::verbs>(4, [](auto& world) {
    auto half = tutti::split(world, world.rank() % 2);
    std::vector<float> values(10'000, static_cast<float>(world.rank()));
    tutti::allreduce{half, tutti::ring{}, tutti::sum<float>{}}(values);
    return values[0] == values[9'999] ? values[0] : -1;
  });
  for (std::size_t r = 0; r != results.size(); ++r) {
    BOOST_TEST((results[r] ? "" : results[r].failure().text) == "");
    BOOST_TEST((results[r] ? results[r].value() : -1) == static_cast<float>(2 + r % 2 * 2));
  }
}

}  // namespace
