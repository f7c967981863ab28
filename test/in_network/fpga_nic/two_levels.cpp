// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <in_network/fpga_nic/packets.hpp>
#include <laws/late.hpp>
#include <support/watched.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/in_network/detail/fpga_nic/networks.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>
#include <tutti/in_network/detail/fpga_nic/stand_in.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/in_network/fpga_nic_options.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

// Two levels of switches: one in each rack, and one above them.

namespace {

using namespace std::chrono_literals;
using tutti::failure;
using tutti::in_network;
using tutti::rank_type;
using tutti::star;
using network = tutti::detail::fpga_nic::in_process_network;
using transport = tutti::fpga_nic<tutti::loopback, tutti::detail::fpga_nic::in_process_link>;
using racks = std::vector<unsigned>;  // by rank
namespace nic = tutti::detail::fpga_nic;
using packets::contribution;
using packets::serialize;

struct trial {
  double loss = 0;
  std::uint32_t stand_in_share = 0;
};

/// A network with this number of racks.
network network_of(racks const& rack_of_rank, double loss = 0) {
  return network(static_cast<unsigned>(rack_of_rank.size()),
                 {.packets = {.loss = loss, .duplication = loss, .reordering = loss, .seed = rack_of_rank.size()},
                  .racks = 1 + std::ranges::max(rack_of_rank)});
}
template <class F>
auto run(network& net, racks const& rack_of_rank, F f, tutti::duration deadline = 40s,
         std::uint32_t stand_in_share = 0) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.network = {.network = &net, .racks = rack_of_rank};
  options.transport.slot_count = 64;
  options.transport.stand_in_share = stand_in_share;
  return tutti::spawn<transport>(static_cast<rank_type>(rack_of_rank.size()), f, options);
}
template <class Results>
void expect_none(Results const& results, std::string const& context) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << ", " << context << ": " << complaint);
  }
}

/// Elements whose sum has bits that depend on the order.
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

/// The reduction of a strategy with weights on the device.
struct pushed_gradients : tutti::sum<float> {
  static constexpr tutti::network_operation in_network = tutti::network_operation::update;
};

struct answer {
  unsigned destination;
  nic::header h;
  std::vector<std::byte> payload;

  [[nodiscard]] bool is(unsigned receiver, nic::kind k) const { return destination == receiver && h.kind == k; }
  [[nodiscard]] bool refuses(nic::refusal reason) const {
    return h.kind == nic::kind::refuse && nic::read_refusal(payload) == reason;
  }
};
nic::header make_header(nic::kind k, unsigned worker, unsigned workers, std::size_t length = 0) {
  nic::header h = contribution(worker, workers, 0, length);
  h.kind = k;
  h.operation = tutti::network_operation::none;
  h.fingerprint = 0;
  h.flags = nic::flag::in_rank_order;
  return h;
}
std::vector<std::byte> join_payload(nic::terms const& terms, nic::rack_position place = {}) {
  std::vector<std::byte> bytes(nic::terms::bytes + (place.exists() ? nic::rack_position::bytes : 0));
  nic::write(terms, bytes.data());
  if (place.exists()) {
    nic::write(place, bytes.data() + nic::terms::bytes);
  }
  return bytes;
}

/// The switch of a rack with numbers as members, and all its packets.
struct rack_bench {
  static constexpr unsigned device_above = 7;
  static constexpr nic::rack_position place{1, 3};

  nic::rack_switch<unsigned> device{{.jobs = 2, .slot_count = 8}, {}, device_above};
  tutti::time_point now = 1h;
  unsigned members = 0;
  std::vector<answer> answers{};

  std::vector<answer> const& take(unsigned source, nic::header const& h, std::span<std::byte const> payload) {
    answers.clear();
    device.take(source, serialize(h, payload), false, now, [&](unsigned destination, nic::header const& r, auto bytes) {
      answers.push_back({destination, r, {bytes.begin(), bytes.end()}});
    });
    return answers;
  }
  std::vector<answer> const& take(unsigned source, nic::header const& h) {
    return take(source, h, std::vector<std::byte>(h.length));
  }
  std::vector<answer> const& join(unsigned source, unsigned worker, unsigned workers, nic::terms const& terms,
                                  nic::rack_position position = place) {
    nic::header h = make_header(nic::kind::join, worker, workers, nic::terms::bytes + nic::rack_position::bytes);
    h.flags |= nic::flag::of_racks;
    return take(source, h, join_payload(terms, position));
  }
  /// Sends the rack a packet of the device above.
  std::vector<answer> const& send_down(nic::header h, std::span<std::byte const> payload) {
    h.worker = place.rack;
    h.workers = place.racks;
    h.length = static_cast<std::uint16_t>(payload.size());
    return take(device_above, h, payload);
  }
  std::vector<answer> const& grant(nic::terms const& terms) {
    return send_down(make_header(nic::kind::grant, 0, 1), join_payload(terms));
  }
  /// Joins members 0 to n - 1 from addresses 100 and up, and grants them 8 slots.
  void join_all(unsigned n) {
    for (unsigned w = 0; w != n; ++w) {
      join(100 + w, w, n, {1000, 8});
    }
    grant({1000, 8});
    members = n;
    answers.clear();
  }
  [[nodiscard]] nic::header contribution_of(unsigned w, std::uint32_t sequence) const {
    nic::header h = contribution(w, members, sequence, 8);
    h.slot = static_cast<std::uint16_t>(sequence % 8);
    h.flags = static_cast<std::uint16_t>(nic::flag::in_rank_order | (sequence / 8 % 2 != 0 ? nic::flag::phase : 0));
    return h;
  }
  std::vector<answer> const& contribute(unsigned w, std::uint32_t sequence) {
    return take(100 + w, contribution_of(w, sequence));
  }
  std::vector<answer> const& refuse(nic::header h, nic::refusal reason) {
    h.kind = nic::kind::refuse;
    std::byte const code{static_cast<std::uint8_t>(reason)};
    return send_down(h, {&code, 1});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(racks_have_the_bits_of_hierarchical_star_star) {
  for (trial const& t : {trial{}, trial{0.01, 64}, trial{0.05}, trial{0.01, 256}}) {
    for (racks const& rack_of_rank : shapes) {
      if (support::is_watched && rack_of_rank.size() > 6) {
        continue;
      }
      network net = network_of(rack_of_rank, t.loss);
      tutti::host_map const map(rack_of_rank);
      auto const results = run(
          net, rack_of_rank,
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
              auto const own_numbers = numbers(count, world.rank());
              auto a = own_numbers;
              auto b = own_numbers;
              auto c = own_numbers;
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
                auto g = own_numbers;
                mean(own_numbers, f, root);
                mean_by_stars(g);
                auto broadcast_values = own_numbers;
                share(broadcast_values, root);
                if (!same_bits(f, g) && world.rank() == root) {
                  return "another mean at root " + std::to_string(root);
                }
                if (!same_bits(d, e) || !same_bits(broadcast_values, numbers(count, root))) {
                  return "another result of root " + std::to_string(root);
                }
              }
            }
            return world.size() > 3 && !differs_from_flat ? "the order does not show" : "";
          },
          40s, t.stand_in_share);
      expect_none(results, std::to_string(rack_of_rank.size()) + " ranks, loss " + std::to_string(t.loss));
      BOOST_TEST((net.counts().completed_results != 0) == (t.stand_in_share != 256));
    }
  }
}

// More than 8 ranks of a rack are added in order of arrival.
BOOST_AUTO_TEST_CASE(large_racks_have_equal_bits_everywhere) {
  racks const rack_of_rank{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  network net = network_of(rack_of_rank, 0.01);
  auto const results = run(
      net, rack_of_rank,
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

BOOST_AUTO_TEST_CASE(a_switch_has_one_place_however_it_is_named) {
  auto const place = [](char const* text) { return nic::udp_network::identity_of(text); };
  BOOST_TEST(place("10.0.1.9:7171") == place("[::ffff:10.0.1.9]:7171"));
  BOOST_TEST(place("[2001:db8:0:0::9]:7171") == place("[2001:db8::9]:7171"));
  BOOST_TEST(place("[fe80::9%lo]:7171") == place("[fe80::9]:7171"));  // the link has another number on each host
  BOOST_TEST(place("10.0.1.9:7171") != place("10.0.1.9:7172"));
  BOOST_TEST(place("10.0.1.9:7171") == "10.0.1.9:7171");
  // each host has its own loopback
  BOOST_TEST(place("127.0.0.1:7171") == "127.0.0.1:7171 " + tutti::detail::node_identity());
  BOOST_CHECK_EXCEPTION(place("10.0.1.9"), tutti::error, [](tutti::error const& e) {
    return std::string(e.what()).find("not \"10.0.1.9\"") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(all_ranks_hear_of_a_switch_that_has_no_address) {
  using udp = tutti::fpga_nic<tutti::loopback>;
  for (rank_type const faulty_rank : {0U, 1U}) {
    auto const results = tutti::detail::run_threads(3, [&](tutti::detail::thread_rendezvous& meet) {
      tutti::world_options<udp> options;
      options.transport.network.device = "127.0.0.1:1";
      (faulty_rank == 0 ? options.transport.network.device : options.transport.network.rack) =
          meet.rank() == faulty_rank ? "nowhere" : "127.0.0.1:1";
      tutti::communicator<udp> world(meet, options);
    });
    for (auto const& result : results) {
      BOOST_TEST((!result && result.failure().text.find("not \"nowhere\"") != std::string::npos));
    }
  }
}

// A member may join any number of times.
BOOST_AUTO_TEST_CASE(a_member_is_granted_what_both_devices_have) {
  rack_bench b;
  BOOST_TEST_REQUIRE(b.join(100, 0, 2, {1000, 20}).size() == 1U);
  BOOST_TEST(b.answers[0].is(b.device_above, nic::kind::join));
  BOOST_TEST_REQUIRE(b.grant({500, 2}).size() == 1U);
  BOOST_TEST((b.answers[0].is(100, nic::kind::grant) && nic::read_terms(b.answers[0].payload) == nic::terms{500, 2}));
  for (auto const& [source, worker, lease] : {std::tuple{100U, 0U, 500U}, {101U, 1U, 300U}}) {
    BOOST_TEST_REQUIRE(b.join(source, worker, 2, {lease == 300 ? lease : 1000, 20}).size() == 1U);
    nic::header const question = b.answers[0].h;
    BOOST_TEST((b.answers[0].is(b.device_above, nic::kind::contribute) && question.slot == UINT16_MAX));
    BOOST_TEST_REQUIRE(b.refuse(question, nic::refusal::no_slots).size() == 1U);
    BOOST_TEST(b.answers[0].is(source, nic::kind::grant));
    BOOST_TEST((nic::read_terms(b.answers[0].payload) == nic::terms{lease, 2}));
  }
}

// The rack sends up sums of all its members. A result that a member supplies contains those of other racks, and is
// never sent up.
BOOST_AUTO_TEST_CASE(a_result_that_a_member_supplies_is_never_sent_up) {
  for (unsigned const contributions : {0U, 1U, 2U}) {
    rack_bench b;
    b.join_all(2);
    for (unsigned w = 0; w != contributions; ++w) {
      b.contribute(w, 5);
    }
    BOOST_TEST(b.answers.size() == (contributions == 2 ? 1U : 0U));  // the sum
    std::vector<std::byte> const result(8, std::byte{7});
    nic::header h = b.contribution_of(0, 5);
    h.kind = nic::kind::supply;
    b.take(100, h, result);
    BOOST_TEST(b.answers.size() == contributions);
    for (unsigned w = 0; w != 2; ++w) {
      b.contribute(w, 5);
      BOOST_TEST_REQUIRE(b.answers.size() == 1U);
      BOOST_TEST((b.answers[0].is(100 + w, nic::kind::result) && b.answers[0].payload == result));
    }
    b.contribute(0, 21);  // the next sequence in that version is a sum again
    b.contribute(1, 21);
    BOOST_TEST_REQUIRE(b.answers.size() == 1U);
    BOOST_TEST(b.answers[0].is(b.device_above, nic::kind::contribute));
  }
}

// Many members may query a sequence that another rack is late for.
BOOST_AUTO_TEST_CASE(what_the_device_above_lacks_is_told_to_members_that_have_asked) {
  rack_bench b;
  b.join_all(3);
  for (unsigned w = 0; w != 3; ++w) {
    b.contribute(w, 5);
  }
  nic::header const sum = b.answers.back().h;
  auto const ask = [&](unsigned w, std::uint32_t sequence) {
    nic::header h = b.contribution_of(w, sequence);
    h.kind = nic::kind::query;
    h.length = 0;
    b.now += 1ms;
    BOOST_TEST(b.take(100 + w, h, {}).size() == 2U);  // the repeated sum, and the query
  };
  auto const lacks_others = [&] {
    nic::header h = sum;
    h.kind = nic::kind::missing;
    std::byte const bits{1U << rack_bench::place.rack};
    return b.send_down(h, {&bits, 1});
  };
  BOOST_TEST(lacks_others().empty());
  for (std::vector<unsigned> const& askers : {std::vector{1U}, {0U, 2U}, {1U, 1U}}) {
    for (unsigned const w : askers) {
      ask(w, 5);
    }
    std::set<unsigned> named_ranks;
    for (answer const& a : lacks_others()) {
      BOOST_TEST((a.h.kind == nic::kind::missing && a.h.has(nic::flag::of_racks)));
      BOOST_TEST(named_ranks.insert(a.destination - 100).second);
    }
    BOOST_TEST(named_ranks == std::set<unsigned>(askers.begin(), askers.end()));
    BOOST_TEST(lacks_others().empty());
  }
  ask(1, 5);
  nic::header other = sum;
  other.operation = tutti::network_operation::max_float32;
  BOOST_TEST(b.refuse(other, nic::refusal::mismatch).size() == 3U);  // a mismatch concerns all members
}

BOOST_AUTO_TEST_CASE(a_stand_in_serves_the_members_that_it_knows) {
  for (std::vector<std::uint8_t> const& rack_of_rank : {std::vector<std::uint8_t>{0, 0, 1}, {}}) {
    nic::stand_in<unsigned> rank_0(4, {100, 101, 102}, rack_of_rank, {});
    auto const answers = [&](unsigned source, nic::header const& h, std::span<std::byte const> payload) {
      std::vector<nic::kind> kinds;
      rank_0.take(source, serialize(h, payload), false, tutti::time_point(1h),
                  [&](unsigned, nic::header const& r, auto) { kinds.push_back(r.kind); });
      return kinds;
    };
    auto const join = [&](unsigned source, unsigned worker, unsigned workers) {
      auto const kinds =
          answers(source, make_header(nic::kind::join, worker, workers, nic::terms::bytes), join_payload({1000, 4}));
      return kinds == std::vector{nic::kind::grant};
    };
    for (auto const& [source, worker, workers] :
         {std::tuple{200U, 200U, 255U}, {200U, 0U, 1U}, {200U, 1U, 3U}, {101U, 200U, 255U}, {101U, 0U, 3U}}) {
      BOOST_TEST(!join(source, worker, workers));
      nic::header h = contribution(0, 1, 0, 8);
      h.flags = nic::flag::in_rank_order;
      BOOST_TEST((answers(source, h, std::vector<std::byte>(8)) != std::vector{nic::kind::result}));
    }
    BOOST_TEST((join(102, 2, 3) && join(100, 0, 3) && join(101, 1, 3)));
    rank_0.stay(tutti::time_point(1h));
    for (unsigned worker = 1; worker != 3; ++worker) {
      answers(200, make_header(nic::kind::leave, worker, 3), {});
    }
    BOOST_TEST(rank_0.is_needed(tutti::time_point(1h)));
    for (unsigned worker = 1; worker != 3; ++worker) {
      answers(100 + worker, make_header(nic::kind::leave, worker, 3), {});
    }
    BOOST_TEST(!rank_0.is_needed(tutti::time_point(1h)));
  }
}

// The rack's switch refuses each block once, and updates go to rank 0.
BOOST_AUTO_TEST_CASE(weights_are_offered_to_a_switch_of_a_rack_once) {
  racks const rack_of_rank{0, 1, 1};
  network net = network_of(rack_of_rank);
  constexpr std::size_t blocks = 5;
  auto const results = run(net, rack_of_rank, [](auto& world) -> std::string {
    std::vector<float> const weights(blocks * 256, 8);
    std::vector<float> gradients(blocks * 256);
    auto& device_transport = world.transport();
    tutti::allreduce update{world, in_network{}, pushed_gradients{}};
    for (int step = 0; step != 3; ++step) {
      device_transport.set_weights(weights);
      gradients.assign(gradients.size(), 1);
      device_transport.set_gradients(gradients, 0.5F, 0);
      update(gradients);
      if (gradients != std::vector<float>(gradients.size(), 6.5F)) {
        return "other weights";
      }
    }
    device_transport.release_weights();
    return "";
  });
  expect_none(results, "weights");
  for (unsigned const rack : {0U, 1U}) {
    BOOST_TEST(net.counts(net.rack(rack)).refusals_for(nic::refusal::unsupported_operation) ==
               (rack == 0 ? blocks : 0));
  }
}

// A link carries the vector once each way, for a rank and for a rack.
BOOST_AUTO_TEST_CASE(a_rack_sends_up_what_one_rank_sends) {
  racks const rack_of_rank{0, 0, 0, 1, 1};
  network net = network_of(rack_of_rank);
  constexpr std::size_t packets = 100;
  auto const results = run(net, rack_of_rank, [](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(packets * 256, 1);
    sum(v);
    return v[0] == 5 ? "" : "a wrong sum";
  });
  expect_none(results, "no loss");
  for (auto const& [address, parts] : {std::pair{network::device, 2U}, {net.rack(0), 3U}, {net.rack(1), 2U}}) {
    auto const c = net.counts(address);
    BOOST_TEST(c.completed_results == packets);
    BOOST_TEST(c.stored_contributions == packets * (parts - 1));
    BOOST_TEST(c.results >= packets * parts);
  }
}

// A switch of either level dies in the middle of sums, and restarts.
BOOST_AUTO_TEST_CASE(a_switch_of_either_level_that_dies_and_comes_back_changes_nothing) {
  racks const rack_of_rank{0, 0, 1, 1, 1};
  tutti::host_map const map(rack_of_rank);
  for (double const loss : {0.0, 0.01}) {
    network net = network_of(rack_of_rank, loss);
    network::address const switches[] = {net.rack(0), network::device, net.rack(1)};
    auto const results = run(net, rack_of_rank, [&](auto& world) -> std::string {
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      tutti::allreduce reference{world, tutti::hierarchical{star{}, star{}, map}, tutti::sum<float>{}};
      auto const use_all = [&](network::address device) {
        std::vector<float> uses(1);
        for (auto const limit = tutti::steady_now() + 20s; uses[0] != static_cast<float>(world.size());) {
          std::vector<float> v(100, 1);
          sum(v);
          uses[0] = world.transport().device_answers() && net.counts(device).completed_results != 0 ? 1 : 0;
          reference(uses);
          if (tutti::steady_now() > limit) {
            return false;
          }
        }
        return true;
      };
      for (unsigned step = 0; step < 45; ++step) {
        auto const device = switches[step / 10 % 3];
        if (step % 10 == 3 && !use_all(device)) {
          return "step " + std::to_string(step) + " finds a switch that is not used";
        }
        if (world.rank() == 1 && step % 10 == 3) {
          net.kill(device);
        }
        bool const at_once = step >= 20;
        if (world.rank() == (at_once ? 1 : 2) && step % 10 == (at_once ? 3 : 7)) {
          net.restart(device);
        }
        auto v = numbers(3000 + step * 100, world.rank());
        auto expected = v;
        reference(expected);
        sum(v);
        if (!same_bits(v, expected)) {
          return "step " + std::to_string(step) + " has other bits";
        }
      }
      return use_all(network::device) ? "" : "the switches are not used again";
    });
    expect_none(results, "loss " + std::to_string(loss));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_calls_something_else_or_is_late_is_named) {
  racks const rack_of_rank{0, 0, 1, 1, 1};
  for (rank_type const other : {rank_type{1}, rank_type{2}}) {
    network net = network_of(rack_of_rank);
    auto const results = run(
        net, rack_of_rank,
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
    network net = network_of(rack_of_rank);
    auto const results = run(
        net, rack_of_rank,
        [&](auto& world) {
          while (world.rank() == late && !world.transport().fault()) {
            world.poll();  // until all other ranks have given up
            std::this_thread::yield();
          }
          tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
          std::vector<float> v(100);
          sum(v);
        },
        300ms);
    for (rank_type r = 0; r < rack_of_rank.size(); ++r) {
      BOOST_TEST(laws::blames(results[r], r, {late}) == "");
    }
  }
}

// A rack's switch does not know the missing ranks of another rack: present ranks report themselves.
BOOST_AUTO_TEST_CASE(late_ranks_of_another_rack_are_all_named_and_no_others) {
  racks const rack_of_rank{0, 0, 1, 1, 1, 1, 1, 1};
  network net = network_of(rack_of_rank);
  auto const results = run(
      net, rack_of_rank,
      [&](auto& world) {
        while ((world.rank() == 4 || world.rank() == 6) && !world.transport().fault()) {
          world.poll();
          std::this_thread::yield();
        }
        tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
        std::vector<float> v(100);
        sum(v);
      },
      laws::short_deadline);
  for (rank_type const r : {0U, 1U, 2U, 7U}) {
    BOOST_TEST_REQUIRE(!results[r]);
    std::string const& text = results[r].failure().text;
    auto const lacks = text.find(" waits for ");
    BOOST_TEST_REQUIRE(lacks != text.npos, text);
    for (rank_type other = 0; other != rack_of_rank.size(); ++other) {
      bool const is_named = text.find("rank " + std::to_string(other) + " (", lacks) != text.npos;
      BOOST_TEST(is_named == (other == 4 || other == 6), "rank " << r << ": " << text);
    }
  }
}

// The rack's switch answers queries about sequences that a rank of the rack is late for, and no queries about
// sequences that need the switch above.
BOOST_AUTO_TEST_CASE(a_dead_switch_above_is_noticed_though_that_of_the_rack_answers) {
  racks const rack_of_rank{0, 0, 1, 1};
  network net = network_of(rack_of_rank);
  std::atomic<bool> is_noticed = false;
  auto const results = run(net, rack_of_rank, [&](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    tutti::barrier meet{world, star{}};
    std::vector<float> v(1, 1);
    sum(v);
    bool const is_used = world.transport().device_answers();
    meet();
    if (world.rank() == 0) {
      net.kill(network::device);
    }
    meet();
    bool const is_late = world.rank() % 2 == 1;
    std::vector<float> first(100, 1);
    std::vector<float> second(100, 2);
    auto first_request = sum.start(first);
    std::optional<tutti::request> second_request;
    if (!is_late) {
      second_request = sum.start(second);
    }
    for (auto const limit = tutti::steady_now() + 20s; !is_noticed && tutti::steady_now() < limit;) {
      if (is_late) {
        std::this_thread::yield();
        continue;
      }
      world.poll();
      is_noticed = is_noticed || world.transport().counts().silences != 0;
    }
    if (!is_noticed) {
      return "the dead switch is not noticed";
    }
    if (is_late) {
      second_request = sum.start(second);
    }
    first_request.wait();
    second_request->wait();
    return is_used && first[0] == 4 && second[0] == 8 ? "" : "a wrong sum";
  });
  expect_none(results, "an operation that is late");
}
