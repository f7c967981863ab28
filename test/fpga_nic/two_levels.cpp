// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <support/watched.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/fpga_nic.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// Each rack has a switch, and those have one above them.

namespace {

using namespace std::chrono_literals;
using tutti::failure;
using tutti::in_network;
using tutti::rank_type;
using tutti::star;
using network = tutti::detail::fpga_nic::in_process_network;
using nic = tutti::fpga_nic<tutti::loopback, tutti::detail::fpga_nic::in_process_link>;
using racks = std::vector<unsigned>;  // by rank

struct trial {
  double loss = 0;
  std::uint32_t stand_in_share = 0;
};

/// A network with so many racks.
network network_of(racks const& of, double loss = 0) {
  return network(
      static_cast<unsigned>(of.size()),
      {.loss = loss, .duplication = loss, .reordering = loss, .seed = of.size(), .racks = 1 + std::ranges::max(of)});
}
template <class F>
auto run(network& net, racks const& of, F f, tutti::duration deadline = 40s, std::uint32_t stand_in_share = 0) {
  tutti::world_options<nic> options;
  options.deadline = deadline;
  options.transport.network = {.network = &net, .racks = of};
  options.transport.slots = 64;
  options.transport.stand_in_share = stand_in_share;
  return tutti::spawn<nic>(static_cast<rank_type>(of.size()), f, options);
}
template <class Results>
void expect_none(Results const& results, std::string const& where) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << ", " << where << ": " << complaint);
  }
}

/// Sums of which bits depend on the order.
std::vector<float> numbers(std::size_t count, rank_type rank) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37 + rank)) * (rank % 2 == 0 ? 1.0F : 1e-3F);
  }
  v[0] = -0.0F;
  return v;
}
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

std::vector<racks> const shapes{{0, 1}, {0, 0, 1}, {0, 0, 1, 1, 1}, {0, 1, 0, 2, 1, 0}, {0, 0, 0, 0, 0, 1, 2, 2}};

}  // namespace

BOOST_AUTO_TEST_CASE(racks_have_the_bits_of_hierarchical_star_star) {
  for (trial const& t : {trial{}, trial{0.01, 64}, trial{0.05}, trial{0.01, 256}}) {
    for (racks const& of : shapes) {
      if (support::watched && of.size() > 6) {
        continue;
      }
      network net = network_of(of, t.loss);
      tutti::detail::host_map const map(of);
      auto const results = run(
          net, of,
          [&](auto& world) -> std::string {
            tutti::hierarchical const two_levels{star{}, star{}, map};
            tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
            tutti::allreduce sum_by_stars{world, two_levels, tutti::sum<float>{}};
            tutti::allreduce flat{world, star{}, tutti::sum<float>{}};
            tutti::reduce mean{world, in_network{}, tutti::mean<float>{}};
            tutti::allreduce mean_by_stars{world, two_levels, tutti::mean<float>{}};
            tutti::allreduce saturating{world, in_network{}, tutti::saturating_sum<std::int32_t>{}};
            tutti::allreduce saturating_by_stars{world, two_levels, tutti::saturating_sum<std::int32_t>{}};
            tutti::broadcast share{world, in_network{}};
            bool differs_from_flat = false;
            for (std::size_t const count : {std::size_t{1}, std::size_t{3'000}}) {
              auto const mine = numbers(count, world.rank());
              auto a = mine;
              auto b = mine;
              auto c = mine;
              sum(a);
              sum_by_stars(b);
              flat(c);
              differs_from_flat = differs_from_flat || !same_bits(a, c);
              if (!same_bits(a, b)) {
                return "other bits in a sum of " + std::to_string(count);
              }
              std::vector<std::int32_t> d(count, INT32_MAX / 4 * (world.rank() % 3 == 0 ? -2 : 3));
              auto e = d;
              saturating(d);
              saturating_by_stars(e);
              for (rank_type const root : {rank_type{0}, world.size() - 1}) {
                std::vector<float> f(count);
                auto g = mine;
                mean(mine, f, root);
                mean_by_stars(g);
                auto shared = mine;
                share(shared, root);
                if (!same_bits(f, g) && world.rank() == root) {
                  return "another mean at root " + std::to_string(root);
                }
                if (!same_bits(d, e) || !same_bits(shared, numbers(count, root))) {
                  return "another result of root " + std::to_string(root);
                }
              }
            }
            return world.size() > 3 && !differs_from_flat ? "the order does not show" : "";
          },
          40s, t.stand_in_share);
      expect_none(results, std::to_string(of.size()) + " ranks, loss " + std::to_string(t.loss));
      BOOST_TEST((net.counted().completed != 0) == (t.stand_in_share != 256));
    }
  }
}

// More than 8 ranks of a rack are added as they come.
BOOST_AUTO_TEST_CASE(large_racks_have_equal_bits_everywhere) {
  racks const of{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  network net = network_of(of, 0.01);
  auto const results = run(
      net, of,
      [](auto& world) -> std::string {
        tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
        tutti::broadcast share{world, star{}};
        auto v = numbers(5000, world.rank());
        sum(v);
        auto expected = v;
        share(expected, 0);
        return same_bits(v, expected) ? "" : "other bits";
      },
      40s, 64);
  expect_none(results, "a rack of 9");
}

// A link carries the vector once each way, of a rank and of a rack.
BOOST_AUTO_TEST_CASE(a_rack_sends_up_what_one_rank_sends) {
  racks const of{0, 0, 0, 1, 1};
  network net = network_of(of);
  constexpr std::size_t packets = 100;
  auto const results = run(net, of, [](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(packets * 256, 1);
    sum(v);
    return v[0] == 5 ? "" : "a wrong sum";
  });
  expect_none(results, "no loss");
  for (auto const& [at, parts] : {std::pair{network::device, 2U}, {net.rack(0), 3U}, {net.rack(1), 2U}}) {
    auto const c = net.counted(at);
    BOOST_TEST(c.completed == packets);
    BOOST_TEST(c.stored == packets * (parts - 1));
    BOOST_TEST(c.results >= packets * parts);
  }
}

// Some switch dies in the middle of sums, and comes back.
BOOST_AUTO_TEST_CASE(a_switch_of_either_level_that_dies_and_comes_back_changes_nothing) {
  racks const of{0, 0, 1, 1, 1};
  tutti::detail::host_map const map(of);
  for (double const loss : {0.0, 0.01}) {
    network net = network_of(of, loss);
    network::address const switches[] = {net.rack(0), network::device, net.rack(1)};
    auto const results = run(net, of, [&](auto& world) -> std::string {
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      tutti::allreduce reference{world, tutti::hierarchical{star{}, star{}, map}, tutti::sum<float>{}};
      for (unsigned step = 0; step < 45; ++step) {
        auto const which = switches[step / 10 % 3];
        if (world.rank() == 1 && step % 10 == 3) {
          net.kill(which);
        }
        bool const at_once = step >= 20;
        if (world.rank() == (at_once ? 1 : 2) && step % 10 == (at_once ? 3 : 7)) {
          net.restart(which);
        }
        auto v = numbers(3000 + step * 100, world.rank());
        auto expected = v;
        reference(expected);
        sum(v);
        if (!same_bits(v, expected)) {
          return "step " + std::to_string(step) + " has other bits";
        }
      }
      std::vector<float> answered(1);
      for (auto const limit = tutti::steady_now() + 20s; answered[0] != static_cast<float>(world.size());) {
        std::vector<float> v(100, 1);
        sum(v);
        answered[0] = world.transport().device_answers() ? 1 : 0;
        reference(answered);
        if (tutti::steady_now() > limit) {
          return "the switches are not used again";
        }
      }
      return {};
    });
    expect_none(results, "loss " + std::to_string(loss));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_calls_something_else_or_is_late_is_named) {
  racks const of{0, 0, 1, 1, 1};
  for (rank_type const other : {rank_type{1}, rank_type{2}}) {
    network net = network_of(of);
    auto const results = run(
        net, of,
        [&](auto& world) {
          tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
          std::vector<float> v(world.rank() == other ? 101 : 100);
          sum(v);
        },
        20s);
    std::string texts;
    for (auto const& r : results) {
      BOOST_TEST((!r && r.failure().kind == failure::mismatch));
      texts += r ? "" : r.failure().text;
    }
    BOOST_TEST((texts.find("x 100") != texts.npos && texts.find("x 101") != texts.npos), texts);
  }
  for (rank_type const late : {rank_type{1}, rank_type{2}}) {
    network net = network_of(of);
    auto const results = run(
        net, of,
        [&](auto& world) {
          while (world.rank() == late && !world.transport().fault()) {
            world.poll();  // until all others have given up
            std::this_thread::yield();
          }
          tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
          std::vector<float> v(100);
          sum(v);
        },
        300ms);
    for (rank_type r = 0; r < of.size(); ++r) {
      BOOST_TEST(laws::blames(results[r], r, {late}) == "");
    }
  }
}
