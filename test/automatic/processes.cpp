// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/reducing_operators.hpp>
#include <support/emulated_hosts.hpp>
#include <support/worlds.hpp>
#include <tutti/allocator.hpp>
#include <tutti/automatic.hpp>
#include <tutti/detail/tuning/copy_probe.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace {

/// A measured world sums correctly with the chosen schedule, and its profile survives a round trip through text.
template <class Transport>
void sums_are_right() {
  for (auto const n : {2U, 3U}) {
    support::agree<Transport>(n, [](auto& world) -> std::string {
      tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
      if (tutti::detail::read_profile(tutti::detail::to_text(best.profile())) != best.profile()) {
        return "the profile is read as another one: " + tutti::detail::to_text(best.profile());
      }
      return laws::reducing(world, best, tutti::sum<float>{}, 1023);
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(through_shared_memory) {
  sums_are_right<tutti::shared_memory>();
}

// The kind of memory stated for vectors changes prices and choices, but no results: not if it is wrong, nor if it is
// right on some ranks only.
BOOST_AUTO_TEST_CASE(in_memory_of_the_transport) {
  for (auto const n : {2U, 3U}) {
    support::agree<tutti::shared_memory>(n, [](auto& world) -> std::string {
      tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
      if (tutti::detail::read_profile(tutti::detail::to_text(best.profile())) != best.profile() ||
          !best.profile().tells_apart()) {
        return "the profile does not keep the kinds of memory apart: " + tutti::detail::to_text(best.profile());
      }
      std::vector<float> ordinary(100'003);
      std::vector<float, tutti::allocator<float>> provided_vector(ordinary.size(), tutti::allocator<float>(world));
      std::span<float> const places[] = {ordinary, provided_vector,
                                         world.rank() == 0 ? std::span(ordinary) : provided_vector};
      for (tutti::automatic const& picks : {best, best.for_memory(tutti::memory_kind::allocator)}) {
        tutti::allreduce sum{world, picks, tutti::sum<float>{}};
        tutti::broadcast share{world, picks};
        for (std::size_t const count : {1UL, 1023UL, ordinary.size()}) {
          for (std::span<float> const place : places) {
            auto const v = place.first(count);
            for (std::size_t i = 0; i < count; ++i) {
              v[i] = static_cast<float>(i % 100);
            }
            sum(v);
            if (world.rank() == 0) {
              std::fill(v.begin(), v.end(), 0.F);
            }
            share(v, 1);
            for (std::size_t i = 0; i < count; ++i) {
              if (v[i] != static_cast<float>(i % 100 * world.size())) {
                return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
              }
            }
          }
        }
      }
      return {};
    });
  }
}

// If even one rank has no such memory to measure in, the world is measured without it.
BOOST_AUTO_TEST_CASE(without_memory_of_the_transport) {
  tutti::world_options<tutti::shared_memory> options;
  options.transport.arena_bytes = 3 << 20;
  for (auto const& end : tutti::spawn<tutti::shared_memory>(
           2,
           [](auto& world) {
             tutti::allocator<float> give(world);
             std::vector<float, tutti::allocator<float>> const filler(world.rank() == 1 ? 2 << 18 : 0, 0.F, give);
             tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
             return best.for_memory(tutti::memory_kind::allocator).explain(tutti::op::allreduce{}, 4);
           },
           options)) {
    BOOST_TEST(end.value().find("not in this profile") != std::string::npos, end.value());
  }
}

BOOST_AUTO_TEST_CASE(over_tcp) {
  sums_are_right<tutti::tcp>();
}

// A long message fills the system's socket buffers, so a step that overwrites what it sends copies it first.
BOOST_AUTO_TEST_CASE(long_messages_over_tcp_cost_a_copy_where_they_are_overwritten) {
  support::agree<tutti::tcp>(2, [](auto& world) -> std::string {
    tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
    for (std::size_t const bytes : {2UL << 20, 16UL << 20, 64UL << 20}) {
      auto const p = tutti::detail::at_size(best.profile().within_host, bytes);
      auto const tolerance = static_cast<std::int64_t>(bytes >> 20);  // the line between two sizes is not exact
      if (p.overwrite < p.send + p.receive - tolerance) {
        return std::to_string(bytes) + " bytes: " + tutti::detail::to_text(best.profile());
      }
    }
    return {};
  });
}

// Messages within a host and between hosts are measured apart, and the candidates include schedules that group hosts.
BOOST_AUTO_TEST_CASE(by_locality_on_hosts_of_two) {
  using hosts_of_two = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>;
  support::agree<hosts_of_two>(4, [](auto& world) -> std::string {
    tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
    if (best.profile().hosts != 2 || best.profile().within_host.points.empty() ||
        best.profile().between_hosts.points.empty()) {
      return "the profile is not of two hosts: " + tutti::detail::to_text(best.profile());
    }
    std::size_t grouping = 0;
    for (tutti::prediction const& p : best.predict(tutti::op::allreduce{}, 4096)) {
      grouping += tutti::selection::groups_hosts(p.way.topology.kind()) ? 1U : 0U;
    }
    return grouping == 0 ? "no schedule that groups hosts is among the ways"
                         : laws::reducing(world, best, tutti::sum<float>{}, 1023);
  });
  sums_are_right<hosts_of_two>();
}
