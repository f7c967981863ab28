// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/join.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>
#include <vector>

using tutti::rank_type;

namespace {

/// Runs f() as n launched processes, two on each host. f returns a complaint, or an empty string.
template <class F>
void launch(rank_type n, F f) {
  char base[] = "/tmp/tutti-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(base) != nullptr);
  for (auto const& end : tutti::detail::run_processes(n, [&](tutti::detail::process_rendezvous& at) -> std::string {
         auto const set = [](char const* name, std::string const& value) { ::setenv(name, value.c_str(), 1); };
         set("TUTTI_RANK", std::to_string(at.rank()));
         set("TUTTI_SIZE", std::to_string(n));
         set("TUTTI_JOB", "test");
         set("TUTTI_STORE", "file:" + std::string(base) + "/job");
         set("TUTTI_NODE", "node " + std::to_string(at.rank() / 2));
         return f();
       })) {
    std::string const complaint = end ? end.value() : end.failure().text;
    BOOST_TEST(complaint == "");
  }
  BOOST_TEST((n == 1 || ::rmdir((std::string(base) + "/job").c_str()) == 0));
  BOOST_TEST(::rmdir(base) == 0);
}

/// Sums ones hierarchically, and returns a complaint if the result or a size of the world is wrong.
template <class World>
std::string complaint_of(World& world, rank_type size, rank_type local_size) {
  world.deadline(std::chrono::seconds(40));
  std::vector<int> v(1000, 1);
  tutti::allreduce{world, tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()},
                   tutti::sum<int>{}}(v);
  return world.size() == size && world.local_size() == local_size && v.back() == static_cast<int>(size)
             ? ""
             : "rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()) + ", " +
                   std::to_string(world.local_size()) + " of them here, has " + std::to_string(v.back());
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_of_several_hosts) {
  launch(5, [] {
    auto world = tutti::join<tutti::by_locality<tutti::shared_memory, tutti::tcp>>();
    return complaint_of(world, 5, world.rank() == 4 ? 1 : 2);
  });
}

// Each process counts as a host, even if several run on one node.
BOOST_AUTO_TEST_CASE(threads_of_several_processes) {
  launch(3, [] {
    std::string complaints;
    for (auto const& end : tutti::join<tutti::by_locality<tutti::loopback, tutti::tcp>>(
             2, [](auto& world) { return complaint_of(world, 6, 2); })) {
      complaints += end ? end.value() : end.failure().text;
    }
    return complaints;
  });
}

BOOST_AUTO_TEST_CASE(threads_of_one_process_need_no_other) {
  launch(1, [] {
    std::string complaints;
    for (auto const& end : tutti::join<tutti::loopback>(3, [](auto& world) { return complaint_of(world, 3, 3); })) {
      complaints += end ? end.value() : end.failure().text;
    }
    return complaints;
  });
}

BOOST_AUTO_TEST_CASE(alone) {
  auto world = tutti::join<tutti::by_locality<tutti::shared_memory, tutti::tcp>>();
  BOOST_TEST(complaint_of(world, 1, 1) == "");
}
