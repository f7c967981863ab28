// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/counted_new.hpp>
#include <support/watched.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/udp_multicast.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

// Ranks of one process and a group there, on a network that loses, repeats and reorders packets.

namespace {

using namespace std::chrono_literals;
using tutti::failure;
using tutti::in_network;
using tutti::rank_type;
using network = tutti::detail::fpga_nic::in_process_network;
using cast = tutti::udp_multicast<tutti::loopback, tutti::detail::multicast::in_process_link>;
static_assert(tutti::helps<cast> && tutti::reports_helpers<cast> && tutti::lends<cast> && tutti::answers<cast> &&
              tutti::inquires<cast>);

constexpr rank_type sizes[] = {1, 2, 3, 4, 5, 8, 16};

tutti::world_options<cast> options_for(network& net) {
  tutti::world_options<cast> options;
  options.deadline = 40s;
  options.transport.network.network = &net;
  options.transport.patience = 20s;  // the machine may be busy
  options.transport.window = 64;
  return options;
}

template <class Results>
void expect_no_complaints(Results const& results, double loss = 0) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << " of " << results.size() << ", loss " << loss << ": " << complaint);
  }
}

/// Runs check(world) on n ranks; what it returns is a complaint.
template <class Check>
void agree(rank_type n, double loss, Check check) {
  network net(n, {.loss = loss, .duplication = loss, .reordering = loss, .seed = n});
  expect_no_complaints(tutti::spawn<cast>(n, check, options_for(net)), loss);
}

std::vector<std::uint32_t> numbers(std::size_t count, rank_type rank) {
  std::vector<std::uint32_t> v(count);
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = static_cast<std::uint32_t>(i * 2654435761U + rank);
  }
  return v;
}

/// Broadcasts of several lengths from each rank.
template <class World>
std::string broadcasts(World& world, std::initializer_list<std::size_t> counts) {
  tutti::broadcast share{world, in_network{}};
  for (std::size_t const count : counts) {
    for (std::size_t const segment : {std::size_t{0}, std::size_t{10'000}}) {
      for (rank_type root = 0; root < world.size(); root += root < 3 ? 1 : 5) {
        share.segment(segment);
        auto v = numbers(count, world.rank());
        share(v, root);
        if (v != numbers(count, root)) {
          return "another vector of " + std::to_string(count) + " came from " + std::to_string(root);
        }
      }
    }
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(operators_equal_the_sequential_answer) {
  for (rank_type const n : sizes) {
    agree(n, 0, [](auto& world) -> std::string {
      std::string bad = laws::moving<laws::triple>(world, in_network{}, 1023);
      bad = bad.empty() ? laws::reducing(world, in_network{}, tutti::sum<float>{}, 1023) : bad;  // by `star`
      for (rank_type root = 0; root < world.size() && bad.empty(); ++root) {
        bad = laws::broadcast<std::uint32_t>(world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 3}, 4099,
                                             1000, root);
      }
      return bad;
    });
  }
}

BOOST_AUTO_TEST_CASE(broadcasts_are_right_where_packets_are_lost_repeated_and_reordered) {
  for (double const loss : {0.0, 0.01, 0.05}) {
    for (rank_type const n : sizes) {
      if (support::watched && n > 5) {
        continue;
      }
      std::atomic<std::uint64_t> sent = 0;
      std::atomic<std::uint64_t> again = 0;
      std::size_t const longest = n > 5 ? 10'000 : 50'000;
      agree(n, loss, [&](auto& world) -> std::string {
        std::string const bad = broadcasts(world, {1, 300, longest});
        if (world.transport().has_helper() != (world.size() > 1)) {
          return "the group is not used";
        }
        if (world.size() > 1) {
          auto const& counted = world.transport().counted();
          sent += counted.sent;
          again += counted.repeated + counted.alone;
        }
        return bad;
      });
      rank_type roots = 0;
      for (rank_type root = 0; root < n; root += root < 3 ? 1 : 5) {
        ++roots;
      }
      // 4 bytes, 1,200, and the longest, whole and in pieces of 10,000 bytes: all packets but the last of each are
      // full.
      std::uint64_t const packets = 1 + 1 + 2 + 2 + (longest * 4 + 1023) / 1024 + longest * 4 / 10'000 * 10;
      BOOST_TEST(sent == (n == 1 ? 0 : roots * packets));
      BOOST_TEST((again > 0 || loss == 0 || n == 1), "nothing was sent again, loss " << loss << ", " << n << " ranks");
    }
  }
}

// Ranks begin different operations first, and others give in each.
BOOST_AUTO_TEST_CASE(many_broadcasts_at_once_end) {
  agree(4, 0.01, [](auto& world) -> std::string {
    tutti::broadcast share{world, in_network{}};
    std::vector<std::vector<std::uint32_t>> all(tutti::collective_lanes + 2);
    for (rank_type k = 0; k != 3; ++k) {
      std::vector<tutti::request> pending;
      for (rank_type i = 0; i != all.size(); ++i) {
        all[i] = numbers(30'000, world.rank() + 10 * i);
        pending.push_back(share.start(all[i], (i + k) % 4));
      }
      for (std::size_t i = 0; i != pending.size(); ++i) {
        pending[(i * 3 + world.rank()) % pending.size()].wait();
      }
      for (rank_type i = 0; i != all.size(); ++i) {
        if (all[i] != numbers(30'000, (i + k) % 4 + 10 * i)) {
          return "another vector";
        }
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(without_a_group_that_all_hear_ranks_talk_through_the_host) {
  for (bool const deaf : {true, false}) {  // or packets to the group are lost
    network net(5, {.loss = deaf ? 0.0 : 1.0});
    expect_no_complaints(tutti::detail::run_threads(5, [&](tutti::detail::thread_rendezvous& meet) -> std::string {
      auto options = options_for(net);
      options.transport.network.hears_group = !deaf || meet.rank() != 3;
      options.transport.patience = 20ms;
      tutti::communicator<cast> world(meet, options);
      std::string bad = broadcasts(world, {0, 1, 300, 50'000});
      return world.transport().has_helper() || !world.transport().group().empty() ? "there is a group" : bad;
    }));
  }
}

// A switch may forget who listens, as one that snoops on IGMP does where nothing asks.
BOOST_AUTO_TEST_CASE(a_group_that_ceases_to_hear_is_served_rank_by_rank) {
  network net(3, {});
  std::atomic<bool> closed = false;
  expect_no_complaints(tutti::spawn<cast>(
      3,
      [&](auto& world) -> std::string {
        std::string bad = broadcasts(world, {300});
        if (world.rank() == 0 && !closed.exchange(true)) {
          net.close_group();
        }
        bad = bad.empty() ? broadcasts(world, {1, 20'000}) : bad;
        return bad.empty() && world.transport().counted().alone == 0 ? "nothing was sent to a rank alone" : bad;
      },
      options_for(net)));
}

BOOST_AUTO_TEST_CASE(packets_that_are_none_of_the_job_s_do_no_harm) {
  namespace nic = tutti::detail::fpga_nic;
  using nic::kind;
  network net(4, {});  // the last port is a stranger's
  std::atomic<bool> done = false;
  std::thread stranger([&] {
    nic::in_process_port port(net, 4);
    std::uint32_t k = 0;
    while (!done) {
      ++k;
      std::array<std::byte, 300> payload{};
      nic::header h{
          .kind = kind::share, .operation = tutti::network_operation::copy, .job = k * 2654435761U, .workers = 3};
      h.slot = static_cast<std::uint16_t>(k % 9);
      h.worker = static_cast<std::uint8_t>(k % 3);
      h.kind = k % 3 == 0 ? kind::share : k % 3 == 1 ? kind::progress : kind::ask;
      h.length = static_cast<std::uint16_t>(h.kind == kind::ask ? 0 : payload.size());
      port.send(network::group, h, std::span(payload).first(h.length));
      port.flush();
      // What it hears it says again: for the packet after, of another job, with other elements.
      port.drain([&](auto const&, std::span<std::byte const> heard, bool) {
        nic::packet p;
        if (nic::parse(heard, p) && p.head.kind == kind::share && p.head.length != 0) {
          nic::header other = p.head;
          ++other.job;
          ++other.sequence;
          std::vector<std::byte> wrong(p.payload.begin(), p.payload.end());
          wrong.front() ^= std::byte{0xff};
          port.send(network::group, other, wrong);
        }
      });
      port.flush();
      network::parcels junk;  // and what is no packet at all
      junk.room.resize(1);
      auto& one = *junk.next();
      one.at = k % 3 + 1;
      one.size = static_cast<std::uint16_t>(k % 30);
      one.bytes.fill(static_cast<std::byte>(k));
      net.carry(4, junk);
      std::this_thread::yield();
    }
  });
  std::atomic<std::uint64_t> ignored = 0;
  auto const results = tutti::spawn<cast>(
      3,
      [&](auto& world) {
        auto const bad = broadcasts(world, {1, 20'000});
        ignored += world.transport().counted().ignored;
        return bad;
      },
      options_for(net));
  done = true;
  stranger.join();
  expect_no_complaints(results);
  BOOST_TEST(ignored > 0U);
}

BOOST_AUTO_TEST_CASE(other_calls_are_found_and_a_rank_that_never_comes_is_named) {
  std::atomic<int> found = 0;
  {
    network net(3, {});
    auto options = options_for(net);
    auto const results = tutti::spawn<cast>(
        3,
        [&](auto& world) {
          tutti::broadcast share{world, in_network{}};
          std::vector<float> v(world.rank() == 2 ? 2000 : 1000);
          try {
            share(v, 0);
          } catch (tutti::error const& e) {
            found += e.kind() == failure::mismatch && std::string(e.what()).find("2000") != std::string::npos ? 1 : 0;
            throw;
          }
        },
        options);
    BOOST_TEST(found > 0);
    BOOST_TEST((!results[0] && !results[2]));
  }
  for (rank_type const late : {0U, 2U}) {  // the one that gives, and one that gets
    network net(3, {});
    auto options = options_for(net);
    options.deadline = laws::short_deadline;
    auto const results = tutti::spawn<cast>(
        3,
        [&](auto& world) {
          tutti::broadcast share{world, in_network{}};
          std::vector<float> v(1000);
          while (world.rank() == late && !world.transport().fault()) {
            world.poll();
            std::this_thread::yield();
          }
          share(v, 0);
        },
        options);
    for (rank_type r = 0; r != 3; ++r) {
      bool const has_all = late == 2 && r == 1;
      std::string const complaint = r == late || has_all ? "" : laws::blames(results[r], r, {late});
      BOOST_TEST(complaint.empty(), complaint);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_broadcast_that_has_run_allocates_nothing) {
  agree(4, 0, [](auto& world) -> std::string {
    tutti::broadcast share{world, in_network{}};
    share.segment(20'000);
    std::vector<float> v(30'000, 1);
    for (int k = 0; k < 20; ++k) {
      share(v, 1);
    }
    long const before = support::allocations_of_this_thread;
    for (int k = 0; k < 20; ++k) {
      share(v, 1);
    }
    long const more = support::allocations_of_this_thread - before;
    return more == 0 ? "" : std::to_string(more) + " allocations";
  });
}
