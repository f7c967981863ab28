// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <in_network/fpga_nic/device_under_test.hpp>
#include <laws/all_topologies.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/counted_new.hpp>
#include <support/watched.hpp>
#include <tutti/any_element.hpp>
#include <tutti/any_reduction.hpp>
#include <tutti/automatic.hpp>
#include <tutti/detail/engine/optional_aggregators.hpp>
#include <tutti/detail/tuning/aggregator_meter.hpp>
#include <tutti/dup.hpp>
#include <tutti/in_network/detail/udp/with_aggregator.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>
#include <tutti/reduction/saturating_sum.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

// The laws of the operators over ranks and a device in one process, on a network that loses, repeats and reorders
// packets.

namespace {

using tutti::in_network;
using tutti::rank_type;
using network = tutti::detail::fpga_nic::in_process_network;
using nic = tutti::fpga_nic<tutti::loopback, tutti::detail::fpga_nic::in_process_link>;
static_assert(tutti::aggregates<nic> && tutti::lends<nic> && tutti::reports_waits<nic> && tutti::detects_mismatch<nic>);

struct trial {
  double loss = 0;
  bool device = true;
  std::uint32_t stand_in_share = 0;
  std::uint32_t slot_count = 64;
};
std::ostream& operator<<(std::ostream& stream, trial const& t) {
  return stream << "loss " << t.loss << (t.device ? "" : ", no device") << ", share " << t.stand_in_share;
}

/// Runs check(world), which returns a complaint, on n ranks. Returns the device's counters.
template <class Check>
tutti::detail::fpga_nic::counters agree(rank_type n, trial const& t, Check check) {
  network net(n, {.packets = {.loss = t.loss, .duplication = t.loss, .reordering = t.loss, .seed = n},
                  .device = device_under_test});
  tutti::world_options<nic> options;
  options.deadline = std::chrono::seconds(40);
  options.transport.network = {&net, t.device};
  options.transport.slot_count = t.slot_count;
  options.transport.stand_in_share = t.stand_in_share;
  auto const results = tutti::spawn<nic>(n, check, options);
  for (rank_type r = 0; r < n; ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << " of " << n << ", " << t << ": " << complaint);
  }
  return net.counts();
}

constexpr trial lossless{};
constexpr trial lossy{.loss = 0.01, .stand_in_share = 64};
constexpr trial very_lossy{.loss = 0.05};
constexpr trial without_device{.loss = 0.01, .device = false};
constexpr rank_type sizes[] = {1, 2, 3, 4, 5, 8, 16};

std::vector<float> numbers(std::size_t count, rank_type rank) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37 + rank));
  }
  return v;
}
bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(operators_equal_the_sequential_answer) {
  for (rank_type const n : sizes) {
    agree(n, lossless, [](auto& world) -> std::string {
      std::string complaint = laws::reducing(world, in_network{}, tutti::sum<float>{}, 1023);
      complaint = complaint.empty() ? laws::moving<laws::triple>(world, in_network{}, 1023) : complaint;
      return complaint.empty() ? laws::reducing(world, in_network{}, laws::composition{}, 48)
                               : complaint;  // falls back to `star`
    });
    agree(n, lossless, [](auto& world) {
      return laws::allreduces(world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 3}, tutti::sum<float>{},
                              1023);
    });
  }
}

// A rank whose reduction is known at run time runs the schedule of typed ranks in the same operation: by the device
// where that can do it, else without.
BOOST_AUTO_TEST_CASE(reductions_known_at_run_time_meet_typed_ones) {
  auto const meets = [](auto& world, auto topology) -> std::string {
    tutti::allreduce combine{world, topology, tutti::any_reduction("sum", tutti::any_element("float32"))};
    static_assert(!requires { combine.explain(4); });  // it chooses whether to aggregate, and predicts no times
    tutti::any_reduction const least("min", tutti::any_element("int32"));
    tutti::allreduce typed_sum{world, topology, tutti::sum<float>{}};
    tutti::allreduce typed_least{world, topology, tutti::min<int>{}};
    for (rank_type k = 0; k < 4; ++k) {
      bool const is_typed = (world.rank() + k) % 2 == 0;
      std::vector<float> floats(1000, static_cast<float>(world.rank() + k));
      std::vector<int> integers(1000, static_cast<int>(world.rank() + k));
      if (is_typed) {
        typed_sum(floats);
        typed_least(integers);
      } else {
        combine(floats.data(), floats.size());
        combine(least, integers.data(), integers.size());
      }
      if (floats[999] != static_cast<float>(6 + 4 * k) || integers[999] != static_cast<int>(k)) {
        return "a wrong result in round " + std::to_string(k);
      }
    }
    return {};
  };
  auto const flat_counts = agree(4, lossless, [&](auto& world) { return meets(world, in_network{}); });
  auto const deep_counts = agree(4, lossless, [&](auto& world) {
    return meets(world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2});
  });
  BOOST_TEST(flat_counts.completed_results != 0U);
  BOOST_TEST(deep_counts.completed_results != 0U);
}

BOOST_AUTO_TEST_CASE(a_communicator_has_the_same_workers_always) {
  std::atomic<int> refusals = 0;
  agree(4, lossless, [&](auto& world) -> std::string {
    tutti::allreduce flat{world, in_network{}, tutti::sum<float>{}};
    tutti::allreduce deep{world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}, tutti::sum<float>{}};
    std::vector<float> v(100, 1);
    try {
      flat(v);
      deep(v);
    } catch (tutti::precondition_error const& e) {
      ++refusals;
      return std::string(e.what()).find("its own communicator") != std::string::npos ? "" : e.what();
    } catch (tutti::error const& e) {  // another rank was refused first
      return e.kind() == tutti::failure::cancelled ? "" : e.what();
    }
    return "nothing was thrown";
  });
  BOOST_TEST(refusals > 0);
}

// Lanes share a window: pieces that fill it on one rank may wait for pieces that another rank's window holds back.
BOOST_AUTO_TEST_CASE(many_flows_that_begin_in_any_order_end) {
  agree(4, {.loss = 0.01, .slot_count = 256}, [](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<std::vector<float>> vectors(tutti::collective_lanes + 2, std::vector<float>(100'000, 1));
    for (int k = 0; k < 3; ++k) {
      std::vector<tutti::request> pending;
      for (auto& v : vectors) {
        pending.push_back(sum.start(v));
      }
      for (std::size_t i = 0; i != pending.size(); ++i) {
        pending[(i * 3 + world.rank()) % pending.size()].wait();
      }
    }
    return vectors[0][99'999] == 64 && vectors.back()[0] == 64 ? "" : "a wrong sum";
  });
}

BOOST_AUTO_TEST_CASE(sums_have_the_bits_of_star_or_equal_bits_everywhere) {
  for (trial const& t : {lossless, lossy, very_lossy, without_device}) {
    for (rank_type const n : sizes) {
      if (support::is_watched && n > 5) {
        continue;
      }
      auto const counters = agree(n, t, [&](auto& world) -> std::string {
        tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
        tutti::allreduce reference{world, tutti::star{}, tutti::sum<float>{}};
        tutti::broadcast share{world, tutti::star{}};
        for (std::size_t const count : {std::size_t{1}, std::size_t{300}, std::size_t{20'000}}) {
          for (std::size_t const segment : {std::size_t{0}, std::size_t{10'000}}) {
            sum.segment(segment);
            auto v = numbers(count, world.rank());
            v[0] = -0.0F;
            auto expected = v;
            sum(v);
            if (world.size() <= 8) {
              reference(expected);
            } else {
              expected = v;
              share(expected, 0);
            }
            if (!same_bits(v, expected)) {
              return "other bits in a sum of " + std::to_string(count);
            }
          }
        }
        return {};
      });
      BOOST_TEST((counters.completed_results != 0) == (t.device && n > 1),
                 n << " ranks, " << t << ": " << counters.completed_results);
    }
  }
}

BOOST_AUTO_TEST_CASE(other_operations_are_right_where_packets_are_lost) {
  for (trial const& t : {lossy, very_lossy, without_device}) {
    agree(5, t, [](auto& world) -> std::string {
      tutti::reduce largest{world, in_network{}, tutti::max<float>{}};
      tutti::broadcast share{world, in_network{}};
      tutti::allreduce mean{world, in_network{}, tutti::mean<float>{}};
      tutti::allreduce mean_by_star{world, tutti::star{}, tutti::mean<float>{}};
      tutti::allreduce saturating{world, in_network{}, tutti::saturating_sum<std::int32_t>{}};
      tutti::reduce largest_by_star{world, tutti::star{}, tutti::max<float>{}};
      constexpr std::size_t count = 5000;
      for (rank_type root = 0; root != world.size(); ++root) {
        auto const own_values = numbers(count, world.rank());
        std::vector<float> a(count);
        std::vector<float> b(count);
        largest(own_values, a, root);
        largest_by_star(own_values, b, root);
        auto broadcast_values = own_values;
        share(broadcast_values, root);
        auto c = own_values;
        auto d = own_values;
        mean(c);
        mean_by_star(d);
        std::vector<std::int32_t> whole(count, INT32_MAX / 4 * (world.rank() == root ? -1 : 1));
        saturating(whole);
        if (!same_bits(a, b) || !same_bits(broadcast_values, numbers(count, root)) || !same_bits(c, d) ||
            whole != std::vector<std::int32_t>(count, whole[0])) {
          return "wrong with root " + std::to_string(root);
        }
      }
      return {};
    });
  }
}

// Ranks lift, and the device adds integers without knowing the factor: overflow is detected, and the bits are a
// ring's.
BOOST_AUTO_TEST_CASE(a_device_adds_fixed_point_numbers) {
  for (trial const& t : {lossless, lossy, without_device}) {
    for (rank_type const n : {1U, 2U, 5U, 16U}) {
      if (support::is_watched && n > 5) {
        continue;
      }
      agree(n, t, [&](auto& world) -> std::string {
        tutti::fixed_point_sum const reduction{1e6F, world.size()};
        tutti::allreduce sum{world, in_network{}, reduction};
        tutti::allreduce deep{world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 1}, reduction};
        tutti::reduce total{world, in_network{}, reduction};
        tutti::allreduce reference{world, tutti::ring{}, reduction};
        static_assert(tutti::has_aggregators<std::remove_cvref_t<decltype(sum.topology())>, tutti::op::allreduce>);
        auto const own_values = [&] {
          auto v = numbers(20'000, world.rank());
          v[17] = world.rank() == 1 ? 1e9F : -1e9F;
          v[18] = world.rank() == 0 ? std::nanf("") : 1.0F;
          return v;
        }();
        auto expected = own_values;
        reference(expected);
        for (std::size_t const segment : {std::size_t{0}, std::size_t{10'000}}) {
          sum.segment(segment);
          auto in_place = own_values;
          std::vector<float> separate(own_values.size());
          sum(in_place);
          deep(own_values, separate);
          std::vector<float> at_root = own_values;
          total(at_root, world.size() - 1);
          bool const root = world.rank() == world.size() - 1;
          if (!same_bits(in_place, expected) || !same_bits(separate, expected) ||
              !same_bits(at_root, root ? expected : own_values)) {
            return "other bits, segments of " + std::to_string(segment);
          }
        }
        return std::isnan(expected[17]) && std::isnan(expected[18]) && !std::isnan(expected[19]) ? "" : "no overflow";
      });
    }
  }
}

// `automatic` uses measurements of the device for the operations that it supports.
BOOST_AUTO_TEST_CASE(automatic_knows_the_device_and_what_it_can_do) {
  agree(4, lossless, [](auto& world) -> std::string {
    // A measurement is no operation of the user: fewer ranks may take part later, on a communicator of their own.
    auto separate = tutti::dup(world);
    (void)tutti::automatic(separate, {.budget = std::chrono::milliseconds(1), .remeasure = true});
    tutti::allreduce deep{separate, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}, tutti::sum<float>{}};
    std::vector<float> host_sum(100, 1);
    deep(host_sum);
    tutti::automatic const unaware(separate, {.budget = std::chrono::milliseconds(1), .remeasure = true});
    if (host_sum[99] != 4 || !unaware.profile().aggregator.points.empty()) {
      return "a device that serves some ranks was measured by all";
    }
    tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1), .remeasure = true});
    auto const times = [&](tutti::schedule_requirements needs) {
      auto const ways = best.predict(tutti::op::allreduce{}, 4096, needs);
      return std::ranges::count_if(
          ways, [](auto const& p) { return p.way.topology.kind() == tutti::schedule_kind::in_network && p.time > 0; });
    };
    if (times({.may_aggregate = true}) != 1 || times({}) != 0) {
      return "the device is a candidate where it cannot help, or none where it can";
    }
    best.prefer("allreduce=in_network; reduce=in_network; broadcast=in_network");
    auto const uses_device = [&](auto const& sum) {
      return sum.explain(4000).find(": in_network, ") != std::string::npos;
    };
    if (!uses_device(tutti::allreduce{world, best, tutti::sum<float>{}}) ||
        uses_device(tutti::allreduce{world, best, tutti::sum<double>{}}) ||
        !uses_device(tutti::broadcast{world, best})) {
      return "what is preferred is not run, or run where it cannot be";
    }
    tutti::fixed_point_sum const integer_sum{1e3F, world.size()};
    tutti::allreduce lifting{world, best, integer_sum};
    tutti::allreduce device_sum{world, tutti::selection(tutti::schedule_kind::in_network), integer_sum};
    std::vector<float> a(2000, 1.5F);
    std::vector<float> b(2000, 1.5F);
    lifting(a);
    device_sum(b);
    if (uses_device(lifting) || a[1999] != 6 || b[1999] != 6) {
      return "what ranks lift is wrong, or a schedule is picked that does not lift it";
    }
    std::string complaint = laws::reducing(world, best, tutti::sum<float>{}, 1023);
    complaint = complaint.empty() ? laws::reducing(world, best, tutti::sum<double>{}, 1023) : complaint;
    complaint = complaint.empty() ? laws::reducing(world, best, laws::composition{}, 48) : complaint;
    std::vector<float> v(3000);
    auto const tuning =
        best.autotune(world, tutti::op::allreduce{}, v, {.ways = 100, .maximum_ratio = 1e9, .turns = 1});
    return complaint.empty() && !tuning.starts_with("allreduce:8193-16384=") ? tuning : complaint;
  });
}

BOOST_AUTO_TEST_CASE(an_operator_that_has_run_allocates_nothing) {
  agree(4, lossless, [](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    sum.segment(20'000);
    std::vector<float> v(30'000, 1);
    for (int k = 0; k < 20; ++k) {
      sum(v);
    }
    long const old_allocations = support::allocations_of_this_thread;
    for (int k = 0; k < 20; ++k) {
      sum(v);
    }
    long const new_allocations = support::allocations_of_this_thread - old_allocations;
    return new_allocations == 0 ? "" : std::to_string(new_allocations) + " allocations";
  });
}
