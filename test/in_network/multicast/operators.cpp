// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/counted_new.hpp>
#include <support/watched.hpp>
#include <tutti/dup.hpp>
#include <tutti/in_network/detail/udp/in_process_medium.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/spawn.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <deque>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

// Ranks and a group in one process, on a network that loses, repeats and reorders packets.

namespace {

using namespace std::chrono_literals;
using tutti::failure;
using tutti::in_network;
using tutti::rank_type;
using tutti::detail::udp::kind;
using tutti::detail::udp::packet;
using network = tutti::detail::udp::in_process_medium;
using cast = tutti::udp_multicast<tutti::loopback, tutti::detail::multicast::in_process_link>;
static_assert(tutti::aggregates<cast> && tutti::reports_aggregators<cast> && tutti::lends<cast> &&
              tutti::reports_waits<cast> && tutti::detects_mismatch<cast>);

constexpr rank_type sizes[] = {1, 2, 3, 4, 5, 8, 16};

tutti::world_options<cast> options_for(network& net) {
  tutti::world_options<cast> options;
  options.deadline = 40s;
  options.transport.network.network = &net;
  options.transport.probe_time = 20s;  // for a busy machine
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

/// Runs check(world), which returns a complaint, on n ranks.
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

/// A network within this process that filters packets by rank.
struct partial_link : tutti::detail::multicast::in_process_link {
  using base = tutti::detail::multicast::in_process_link;

  struct options : base::options {
    bool (*says)(rank_type, packet const&) = nullptr;   ///< true if a rank may send this packet; null: all
    bool (*hears)(rank_type, packet const&) = nullptr;  ///< true if a rank may receive this packet
  };

  struct port : base::port {
    port(options const& o, rank_type r) : base::port(*o.network, r + 1), filter(o), rank(r) {}

    bool send(address destination, tutti::detail::udp::header const& h, std::span<std::byte const> payload) {
      return (filter.says != nullptr && !filter.says(rank, {h, payload})) || base::port::send(destination, h, payload);
    }
    template <class F>
    std::size_t drain(F f) {
      return base::port::drain([&](address source, std::span<std::byte const> bytes, bool has_ecn_mark) {
        packet p;
        if (filter.hears == nullptr || (tutti::detail::udp::parse(bytes, p) && filter.hears(rank, p))) {
          f(source, bytes, has_ecn_mark);
        }
      });
    }

    options filter;
    rank_type rank;
  };

  template <tutti::rendezvous M>
  partial_link(M const& meet, options const& o) : base(meet, o), port_(o, meet.rank()) {}
  [[nodiscard]] port& own_port() noexcept { return port_; }

  port port_;
};
template <tutti::transport Host>
using partial_cast = tutti::udp_multicast<Host, partial_link>;

template <tutti::transport Host>
tutti::world_options<partial_cast<Host>> partial_options(network& net) {
  tutti::world_options<partial_cast<Host>> options;
  options.deadline = 40s;
  options.transport.network.network = &net;
  options.transport.probe_time = 20s;
  return options;
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
      std::string complaint = laws::moving<laws::triple>(world, in_network{}, 1023);
      complaint = complaint.empty() ? laws::reducing(world, in_network{}, tutti::sum<float>{}, 1023)
                                    : complaint;  // falls back to `star`
      for (rank_type root = 0; root < world.size() && complaint.empty(); ++root) {
        complaint = laws::broadcast<std::uint32_t>(world, tutti::hierarchical{tutti::binary_tree{}, in_network{}, 3},
                                                   4099, 1000, root);
      }
      return complaint;
    });
  }
}

BOOST_AUTO_TEST_CASE(broadcasts_are_right_where_packets_are_lost_repeated_and_reordered) {
  for (double const loss : {0.0, 0.01, 0.05}) {
    for (rank_type const n : sizes) {
      if (support::is_watched && n > 5) {
        continue;
      }
      std::atomic<std::uint64_t> sent_packets = 0;
      std::atomic<std::uint64_t> repairs = 0;
      std::size_t const longest = n > 5 ? 10'000 : 50'000;
      agree(n, loss, [&](auto& world) -> std::string {
        std::string const complaint = broadcasts(world, {1, 300, longest});
        if (world.transport().has_aggregator() != (world.size() > 1)) {
          return "the group is not used";
        }
        if (world.size() > 1) {
          auto const& counters = world.transport().counts();
          sent_packets += counters.group_packets;
          repairs += counters.group_repairs + counters.single_repairs;
        }
        return complaint;
      });
      rank_type roots = 0;
      for (rank_type root = 0; root < n; root += root < 3 ? 1 : 5) {
        ++roots;
      }
      // Messages of 4 bytes, 1,200 bytes, and the longest, whole and in segments of 10,000 bytes; all packets but the
      // last of each are full.
      std::uint64_t const packets = 1 + 1 + 2 + 2 + (longest * 4 + 1023) / 1024 + longest * 4 / 10'000 * 10;
      BOOST_TEST(sent_packets == (n == 1 ? 0 : roots * packets));
      BOOST_TEST((repairs > 0 || loss == 0 || n == 1),
                 "nothing was sent again, loss " << loss << ", " << n << " ranks");
    }
  }
}

// Ranks begin operations in different orders, with different roots.
BOOST_AUTO_TEST_CASE(many_broadcasts_at_once_end) {
  agree(4, 0.01, [](auto& world) -> std::string {
    tutti::broadcast share{world, in_network{}};
    std::vector<std::vector<std::uint32_t>> vectors(tutti::collective_lanes + 2);
    for (rank_type k = 0; k != 3; ++k) {
      std::vector<tutti::request> pending;
      for (rank_type i = 0; i != vectors.size(); ++i) {
        vectors[i] = numbers(30'000, world.rank() + 10 * i);
        pending.push_back(share.start(vectors[i], (i + k) % 4));
      }
      for (std::size_t i = 0; i != pending.size(); ++i) {
        pending[(i * 3 + world.rank()) % pending.size()].wait();
      }
      for (rank_type i = 0; i != vectors.size(); ++i) {
        if (vectors[i] != numbers(30'000, (i + k) % 4 + 10 * i)) {
          return "another vector";
        }
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(without_a_group_that_all_hear_ranks_talk_through_the_host) {
  for (bool const deaf : {true, false}) {  // otherwise packets to the group are lost
    network net(5, {.loss = deaf ? 0.0 : 1.0});
    expect_no_complaints(tutti::detail::run_threads(5, [&](tutti::detail::thread_rendezvous& meet) -> std::string {
      auto options = options_for(net);
      options.transport.network.hears_group = !deaf || meet.rank() != 3;
      options.transport.probe_time = 20ms;
      tutti::communicator<cast> world(meet, options);
      std::string complaint = broadcasts(world, {0, 1, 300, 50'000});
      if (world.transport().has_aggregator() || !world.transport().group().empty()) {
        return "there is a group";
      }
      char const* const reason = deaf ? "rank 3 is told to hear no group" : "packets of rank 1 to the group at";
      return world.transport().no_group_reason().starts_with(reason) ? complaint : world.transport().no_group_reason();
    }));
  }
}

// Ranks that are known not to hear each other do not probe again in parts of their world; others do.
BOOST_AUTO_TEST_CASE(parts_remember_which_ranks_hear_no_group) {
  network net(4, {});
  auto options = partial_options<tutti::loopback>(net);
  options.transport.probe_time = 2s;
  options.transport.network.hears = [](rank_type r, packet const&) { return r != 3; };
  auto const results = tutti::spawn<partial_cast<tutti::loopback>>(
      4,
      [](auto& world) -> std::string {
        auto const is_remembered = [](auto const& part) {
          return part.transport().no_group_reason().find("that these are a part of") != std::string::npos;
        };
        if (world.transport().has_aggregator() || is_remembered(world)) {
          return "the world does not try a group that rank 3 does not hear";
        }
        auto duplicate = tutti::dup(world);
        if (duplicate.transport().has_aggregator() || !is_remembered(duplicate)) {
          return "a duplicate does not know";
        }
        auto part = tutti::split(duplicate, world.rank() == 0 || world.rank() == 3 ? 0 : 1, world.rank());
        if (world.rank() == 0 || world.rank() == 3) {
          return !part.transport().has_aggregator() && is_remembered(part) ? "" : "a part does not know";
        }
        return part.transport().has_aggregator() && part.transport().no_group_reason().empty()
                   ? ""
                   : "a part that hears all has no group: " + part.transport().no_group_reason();
      },
      options);
  expect_no_complaints(results);
}

// A switch may forget the members of a group, for example one that snoops on IGMP in a network without queries.
BOOST_AUTO_TEST_CASE(a_group_that_ceases_to_hear_is_served_rank_by_rank) {
  network net(3, {});
  std::atomic<bool> is_closed = false;
  expect_no_complaints(tutti::spawn<cast>(
      3,
      [&](auto& world) -> std::string {
        std::string complaint = broadcasts(world, {300});
        if (world.rank() == 0 && !is_closed.exchange(true)) {
          net.close_group();
        }
        complaint = complaint.empty() ? broadcasts(world, {1, 20'000}) : complaint;
        return complaint.empty() && world.transport().counts().single_repairs == 0 ? "nothing was sent to a rank alone"
                                                                                   : complaint;
      },
      options_for(net)));
}

BOOST_AUTO_TEST_CASE(packets_that_are_none_of_the_job_s_do_no_harm) {
  namespace udp = tutti::detail::udp;
  network net(4, {});  // no rank uses the last port
  std::atomic<bool> is_done = false;
  std::thread outsider([&] {
    udp::in_process_port port(net, 4);
    udp::header last_header{.kind = kind::share, .operation = tutti::network_operation::copy, .workers = 3};
    network::datagrams forgeries;
    forgeries.storage.resize(1);
    auto const send_forgery = [&](std::uint32_t sender, std::uint32_t destination, udp::header const& h,
                                  std::span<std::byte const> payload) {
      auto& datagram = *forgeries.next();
      datagram.at = destination;
      datagram.size = static_cast<std::uint16_t>(net.seal().write(h, payload, datagram.bytes.data()));
      net.carry(sender, forgeries);
    };
    std::uint32_t k = 0;
    while (!is_done) {
      ++k;
      // Forges packets of a rank of this job, about distant packets, or of other calls.
      std::array<std::byte, 300> payload;
      payload.fill(static_cast<std::byte>(k * 31));
      udp::header h = last_header;
      h.sequence = k * 2654435761U;
      h.slot = static_cast<std::uint16_t>(k % 9);
      h.worker = static_cast<std::uint8_t>(k % 3);
      h.kind = k % 5 == 0 ? kind::share : k % 5 < 3 ? kind::progress : kind::ask;
      h.length = static_cast<std::uint16_t>(h.kind == kind::ask ? 0 : payload.size());
      h.fingerprint += h.kind == kind::share ? k : 0;
      send_forgery(k % 3 + 1, (k / 3) % 3 + 1, h, std::span(payload).first(h.length));
      // Repeats received packets in its own name, with other elements, and the next packet for another job.
      port.drain([&](auto const&, std::span<std::byte const> bytes, bool) {
        packet p;
        if (udp::parse(bytes, p) && p.head.kind == kind::share && p.head.length != 0) {
          last_header = p.head;
          std::vector<std::byte> elements(p.payload.begin(), p.payload.end());
          elements.front() ^= std::byte{0xff};
          port.send(network::group, last_header, elements);
          udp::header other = last_header;
          ++other.job;
          ++other.sequence;
          port.send(network::group, other, elements);
        }
      });
      port.flush();
      auto& junk = *forgeries.next();  // also sends datagrams that are no packets
      junk.at = k % 3 + 1;
      junk.size = static_cast<std::uint16_t>(k % 30);
      junk.bytes.fill(static_cast<std::byte>(k));
      net.carry(4, forgeries);
      std::this_thread::yield();
    }
  });
  std::atomic<std::uint64_t> ignored_count = 0;
  auto const results = tutti::spawn<cast>(
      3,
      [&](auto& world) {
        auto const complaint = broadcasts(world, {1, 20'000});
        ignored_count += world.transport().counts().ignored_packets;
        return complaint;
      },
      options_for(net));
  is_done = true;
  outsider.join();
  expect_no_complaints(results);
  BOOST_TEST(ignored_count > 0U);
}

BOOST_AUTO_TEST_CASE(other_calls_are_found_and_a_rank_that_never_comes_is_named) {
  std::atomic<int> mismatches = 0;
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
            mismatches +=
                e.kind() == failure::mismatch && std::string(e.what()).find("2000") != std::string::npos ? 1 : 0;
            throw;
          }
        },
        options);
    BOOST_TEST(mismatches > 0);
    BOOST_TEST((!results[0] && !results[2]));
  }
  for (rank_type const late : {0U, 2U}) {  // the root, or a receiver
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
  for (bool const has_group : {true, false}) {
    network net(4, {});
    auto options = options_for(net);
    options.transport.network.hears_group = has_group;
    auto const check = [has_group](auto& world) -> std::string {
      tutti::broadcast share{world, in_network{}};
      share.segment(20'000);
      std::vector<float> v(30'000, 1);
      for (int k = 0; k < 20; ++k) {
        share(v, 1);
      }
      long const old_allocations = support::allocations_of_this_thread;
      for (int k = 0; k < 20; ++k) {
        share(v, 1);
      }
      long const new_allocations = support::allocations_of_this_thread - old_allocations;
      return world.transport().has_aggregator() != has_group ? "another way than asked for"
             : new_allocations == 0                          ? ""
                                                             : std::to_string(new_allocations) + " allocations";
    };
    expect_no_complaints(tutti::spawn<cast>(4, check, options));
  }
}

// A rank that has the whole message may be in another communicator, and never look at this one again.
BOOST_AUTO_TEST_CASE(a_root_does_not_wait_for_reports_of_ranks_that_are_elsewhere) {
  network net(3, {});
  auto options = partial_options<tutti::loopback>(net);
  options.transport.network.says = [](rank_type r, packet const& p) { return r != 1 || p.head.kind != kind::progress; };
  expect_no_complaints(tutti::detail::run_threads(3, [&](tutti::detail::thread_rendezvous& meet) -> std::string {
    tutti::communicator<partial_cast<tutti::loopback>> world(meet, options);
    tutti::communicator<tutti::loopback> other(meet);
    tutti::broadcast share{world, in_network{}};
    tutti::broadcast next{other, tutti::binary_tree{}};
    for (int k = 0; k < 5; ++k) {
      auto v = numbers(1000, world.rank());
      share(v, 0);
      auto w = numbers(1000, world.rank());
      next(w, 0);
      if (v != numbers(1000, 0) || v != w) {
        return "another vector";
      }
    }
    return {};
  }));
}

// Holds even if the host transport's messages are not read in each other's memory.
BOOST_AUTO_TEST_CASE(a_broadcast_that_another_rank_gave_up_does_not_end_well_at_its_root) {
  network net(3, {});
  auto const options = partial_options<tutti::tcp>(net);
  std::atomic<bool> has_begun = false;
  auto const results = tutti::detail::run_threads(3, [&](tutti::detail::thread_rendezvous& meet) {
    tutti::communicator<partial_cast<tutti::tcp>> world(meet, options);
    tutti::broadcast share{world, in_network{}};
    std::vector<float> v(1000);
    if (world.rank() == 0) {
      auto pending = share.start(v, 0);
      has_begun = true;
      pending.wait();
    }
    while (!world.transport().fault()) {
      if (world.rank() == 2 && has_begun) {
        world.transport().revoke({failure::cancelled, 2, 2});
      }
      world.poll();
      std::this_thread::yield();
    }
  });
  BOOST_TEST((!results[0] && results[0].failure().kind == failure::cancelled));
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_instead_of_taking_part_is_lost) {
  for (rank_type const leaves : {0U, 2U}) {  // the root, or a receiver
    network net(3, {});
    auto const results = tutti::spawn<cast>(
        3,
        [&](auto& world) {
          tutti::broadcast share{world, in_network{}};
          std::vector<float> v(1000);
          share(v, 0);
          if (world.rank() != leaves) {
            share(v, 0);
          }
        },
        options_for(net));
    for (rank_type r = 0; r != 3; ++r) {
      bool const has_all = leaves == 2 && r == 1;  // such a rank may or may not learn of the fault
      bool const is_told = !results[r] && results[r].failure().kind == failure::peer_lost &&
                           results[r].failure().text.find("rank " + std::to_string(leaves)) != std::string::npos;
      BOOST_TEST((has_all || (r == leaves) == bool(results[r])));
      BOOST_TEST((has_all || r == leaves || is_told), results[r].failure().text);
    }
  }
}

// A switch may forward a group to a port late.
BOOST_AUTO_TEST_CASE(a_rank_that_hears_the_group_later_than_others_is_waited_for) {
  network net(2, {});
  auto options = partial_options<tutti::loopback>(net);
  options.transport.probe_time = 10s;
  options.transport.network.hears = [](rank_type r, packet const&) {
    static std::atomic<int> deaf_to = 20;
    return r != 1 || deaf_to-- <= 0;
  };
  auto const results = tutti::spawn<partial_cast<tutti::loopback>>(
      2, [](auto& world) { return world.transport().has_aggregator() ? "" : "the group is not used"; }, options);
  expect_no_complaints(results);
}

// Other ranks may still send packets of an operation that was abandoned.
BOOST_AUTO_TEST_CASE(packets_of_a_broadcast_that_was_given_up_go_nowhere) {
  network net(3, {});
  std::atomic<int> abandoned_requests = 0;
  auto const results = tutti::spawn<cast>(
      3,
      [&](auto& world) {
        tutti::broadcast share{world, in_network{}};
        {
          std::vector<std::uint32_t> v(50'000);
          auto pending = share.start(v, 0);
          // Rank 1 waits at once: after the fault no report may arrive for it.
          while (world.rank() == 0 ? abandoned_requests == 0
                                   : world.rank() == 2 && world.transport().counts().reports == 0) {
            world.poll();
          }
          if (world.rank() == 2) {  // destroys its request and its vector while the others send
            ++abandoned_requests;
          } else {
            pending.wait();
          }
        }
        for (int k = 0; k < 100; ++k) {
          world.poll();
        }
      },
      options_for(net));
  for (rank_type r = 0; r != 2; ++r) {
    BOOST_TEST((!results[r] && results[r].failure().kind == failure::cancelled));
  }
}

namespace {

/// Members of a group, one message from the first to the others, and a clock that the test advances.
struct members {
  static constexpr std::uint32_t nonce = 99;
  static constexpr std::uint32_t fingerprint = 7;
  using member = tutti::detail::multicast::member<tutti::detail::udp::in_process_port>;
  using part = tutti::aggregation_part;

  /// @param size ranks of the group; 0 to `participants` - 1 take part
  members(rank_type size, rank_type participants, std::size_t packets) : net(participants, {}), bytes(packets * 1024) {
    std::vector<std::uint32_t> addresses(size);
    for (rank_type r = 0; r != size; ++r) {
      addresses[r] = r + 1;
    }
    for (rank_type r = 0; r != participants; ++r) {
      workers.push_back({r, r == 0, r != 0});
      places.emplace_back(bytes);
      ports.emplace_back(net, r + 1);
      ranks.emplace_back(ports[r], member::terms{nonce, 512}, r, addresses, network::group);
    }
  }
  void begin(rank_type r) {
    member& m = ranks[r];
    m.begin({0, 0}, fingerprint);
    m.join_aggregation({0, 0}, {.aggregator = 1000, .workers = workers, .worker = r, .bytes = bytes});
    if (r == 0) {
      m.send_message(0, places[r].data(), now);
    } else {
      m.set_target(0, places[r].data());
    }
  }
  void advance(rank_type r) { ranks[r].advance(now); }
  std::uint64_t queries() { return ranks[0].counts().queries; }

  network net;
  std::size_t bytes;
  std::vector<tutti::aggregation_worker> workers;
  std::vector<std::vector<std::byte>> places;
  std::deque<tutti::detail::udp::in_process_port> ports;
  std::deque<member> ranks;
  tutti::time_point now{1s};
};

}  // namespace

// Members of a large group report rarely, but before the window is full.
BOOST_AUTO_TEST_CASE(a_window_that_is_full_is_reported_at_once) {
  members group(140, 2, 300);
  group.begin(1);
  group.begin(0);
  for (int k = 0; k < 1000 && !group.ranks[1].has_all(0); ++k) {  // the clock stands still
    group.advance(1);
    group.advance(0);
  }
  BOOST_TEST(group.ranks[1].has_all(0));
}

BOOST_AUTO_TEST_CASE(a_rank_that_begins_late_is_no_long_way_off) {
  members group(2, 2, 300);
  group.begin(0);
  for (int k = 0; k < 1000; ++k) {
    group.now += 1ms;
    group.advance(0);
  }
  group.begin(1);
  for (int k = 0; k < 1000 && group.ranks[0].counts().group_packets < 200; ++k) {
    group.now += 100us;
    group.advance(1);
    group.advance(0);
  }
  std::uint64_t const queries_before = group.queries();
  for (int k = 0; k < 20; ++k) {  // the other rank is silent from now on
    group.now += 1ms;
    group.advance(0);
  }
  BOOST_TEST(group.queries() > queries_before);
}

BOOST_AUTO_TEST_CASE(a_silent_rank_is_asked_whatever_others_say) {
  members group(3, 3, 10);
  group.begin(0);
  tutti::detail::udp::header const lacks{.kind = kind::progress,
                                         .operation = tutti::network_operation::copy,
                                         .job = members::nonce,
                                         .sequence = 0U - 100U,
                                         .fingerprint = members::fingerprint,
                                         .length = 1,
                                         .worker = 1,
                                         .workers = 3};
  std::byte const first{1};
  for (int k = 0; k < 100; ++k) {
    group.now += 1ms;
    group.ports[1].send(1, lacks, {&first, 1});
    group.ports[1].flush();
    group.advance(0);
  }
  BOOST_TEST(group.queries() > 0U);
}
