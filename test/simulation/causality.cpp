// SPDX-License-Identifier: Apache-2.0
// test: address comma
#include <simulation/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/trace/chrome_trace.hpp>
#include <tutti/trace/straggler_report.hpp>
#include <tutti/trace/switched_trace.hpp>
#include <tutti/trace/waits.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tutti::event;
using tutti::event_kind;
using tutti::rank_type;
using tutti::timeline;

/// The traces of n ranks in virtual time.
template <class Trace = tutti::memory_trace, class F>
std::vector<timeline> traces_of(rank_type n, F f) {
  std::vector<timeline> traces(n);
  auto const run = tutti::simulate<Trace>(tutti::one_switch(n, support::fast), n, [&](auto& world) {
    f(world);
    traces[world.rank()] = timeline::copy_of(world.trace());
    return 0;
  });
  for (auto const& rank : run.results) {
    BOOST_TEST(rank.has_value());
  }
  return traces;
}

/// "" if every rank's allreduces depend on what all ranks did before, and every message has its two ends.
std::string complaint_of(tutti::causality const& timelines, std::size_t operations) {
  for (rank_type r = 0; r != timelines.size(); ++r) {
    timeline const& t = timelines.timeline_of(r);
    std::map<std::pair<rank_type, std::size_t>, std::size_t> received_bytes;
    std::size_t completion_count = 0;
    for (std::size_t i = 0; i != t.size(); ++i) {
      if (t[i].kind == event_kind::receive) {
        if (t[i].peer >= timelines.size()) {
          continue;  // the result of an aggregator
        }
        auto const cause = timelines.cause({r, i});
        if (!cause || cause->rank != t[i].peer || timelines.at(*cause).peer != r ||
            timelines.at(*cause).kind != event_kind::send) {
          return "a receive of rank " + std::to_string(r) + " has another cause than its send";
        }
        if (!timelines.happens_before(*cause, {r, i}) || timelines.happens_before({r, i}, *cause)) {
          return "a receive does not follow its send";
        }
        received_bytes[{cause->rank, cause->index}] += t[i].bytes;
      }
      if (t[i].kind != event_kind::complete) {
        continue;
      }
      for (rank_type other = 0; other != timelines.size(); ++other) {
        std::size_t start_count = 0;
        for (std::size_t at = 0; at != timelines.timeline_of(other).size(); ++at) {
          start_count += timelines.timeline_of(other)[at].kind == event_kind::start ? 1U : 0U;
          if (start_count == completion_count + 1) {
            if (other != r && !timelines.happens_before({other, at}, {r, i})) {
              return "rank " + std::to_string(r) + " completed a sum without rank " + std::to_string(other);
            }
            break;
          }
        }
      }
      ++completion_count;
    }
    if (completion_count != operations) {
      return "rank " + std::to_string(r) + " completed " + std::to_string(completion_count) + " operations";
    }
    for (auto const& [place, bytes] : received_bytes) {
      if (timelines.at({place.first, place.second}).bytes != bytes) {
        return "what was received of a message is not what was sent";
      }
    }
  }
  return "";
}

struct sums {
  template <class Communicator, class Topology>
  static void run(Communicator& world, Topology topology, std::size_t segment) {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    sum.segment(segment);
    std::vector<float> a(1000, 1);
    std::vector<float> b(777, 1);
    auto first = sum.start(a);  // both under way: their messages mix
    auto second = sum.start(b);
    first.wait();
    second.wait();
  }
};

BOOST_AUTO_TEST_CASE(what_completes_depends_on_all_ranks) {
  for (rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
    for (std::size_t const segment : {std::size_t{0}, std::size_t{256}}) {
      auto const check = [&](auto topology) {
        auto traces = traces_of(n, [&](auto& world) { sums::run(world, topology, segment); });
        BOOST_TEST(complaint_of(tutti::causality(std::move(traces)), 2) == "");
      };
      check(tutti::ring{});
      check(tutti::butterfly{});
      check(tutti::star{});
      check(tutti::in_network{});
    }
  }
}

BOOST_AUTO_TEST_CASE(what_the_network_makes_is_caused_by_all_contributions_and_waits_for_the_last) {
  constexpr rank_type late = 3;
  auto traces = traces_of(5, [&](auto& world) {
    tutti::allreduce sum{world, tutti::in_network{}, tutti::sum<float>{}};
    std::vector<float> v(1000, 1);
    world.transport().spend(world.rank() == late ? std::chrono::microseconds(500) : std::chrono::microseconds(1));
    sum(v);
  });
  tutti::causality const timelines(std::move(traces));
  unsigned results = 0;
  for (rank_type r = 0; r != timelines.size(); ++r) {
    for (std::size_t i = 0; i != timelines.timeline_of(r).size(); ++i) {
      if (event const e = timelines.timeline_of(r)[i]; e.kind == event_kind::receive) {
        ++results;
        std::vector<bool> contributors(timelines.size());
        for (tutti::causality::event_place const c : timelines.causes({r, i})) {
          BOOST_TEST((timelines.at(c).kind == event_kind::send && timelines.happens_before(c, {r, i})));
          contributors[c.rank] = true;
        }
        BOOST_TEST(std::ranges::count(contributors, true) == 5);
        BOOST_TEST(timelines.cause({r, i})->rank == late);
      }
    }
  }
  BOOST_TEST(results >= 5U);
  tutti::blame const blame(timelines);
  for (rank_type r = 0; r != timelines.size(); ++r) {
    BOOST_TEST((r == late || blame.wait_time(r, late) > std::chrono::microseconds(400)));
  }
}

// A device keeps no timeline: what is late is told by when ranks have sent, and got.
BOOST_AUTO_TEST_CASE(a_late_device_and_a_late_rank_are_told_apart) {
  for (rank_type const late : {0U, 1U, 2U, 3U}) {  // 3: the device
    std::vector<timeline> timelines(3);
    for (rank_type r = 0; r != timelines.size(); ++r) {
      tutti::time_point const send_time{r == late ? 30ms : 1ms};
      tutti::time_point const receive_time = tutti::time_point{late < 3 ? 30ms : 1ms} + (late == 3 ? 20ms : 1ms);
      auto const add = [&](event_kind kind, tutti::time_point time, rank_type peer) {
        timelines[r].add({.kind = kind, .time = time, .number = {}, .flow = {}, .peer = peer, .bytes = 4});
      };
      add(event_kind::start, tutti::time_point{}, tutti::no_rank);
      add(event_kind::send, send_time, 3);
      add(event_kind::receive, receive_time, 3);
      add(event_kind::complete, receive_time, tutti::no_rank);
    }
    tutti::blame const delays(tutti::causality(std::move(timelines)));
    BOOST_TEST(delays.size() == 4U);
    BOOST_TEST(delays.ranks() == 3U);
    for (rank_type other = 0; other != delays.size(); ++other) {
      BOOST_TEST((other == late || delays.caused_time(other) < delays.caused_time(late)), other << " for " << late);
    }
    auto const text = tutti::straggler_report(delays);
    auto const name = late == 3 ? std::string("the device") : "rank " + std::to_string(late);
    BOOST_TEST(text.find(name + " held up the others most") != text.npos, text);
  }
}

BOOST_AUTO_TEST_CASE(threads_are_traced_and_their_traces_gathered) {
  std::vector<std::vector<timeline>> gathered_traces(4);
  auto const member = [&](auto& world) {
    world.deadline(20s);
    sums::run(world, tutti::ring{}, 512);
    gathered_traces[world.rank()] = tutti::gather_timelines(world, timeline::copy_of(world.trace()));
    return 0;
  };
  auto const ends = tutti::spawn<tutti::loopback>(4, member, {}, tutti::switched_trace(4096));
  for (auto const& end : ends) {
    BOOST_TEST(end.has_value());
  }
  BOOST_TEST(gathered_traces[1].empty());
  BOOST_REQUIRE(gathered_traces[0].size() == 4U);
  BOOST_TEST(complaint_of(tutti::causality(gathered_traces[0]), 2) == "");
}

// A worker and a server, by messages; rank 2 is the other worker.
void serve_once(auto& world, std::chrono::milliseconds server_takes, std::chrono::milliseconds second_takes) {
  tutti::send give{world};
  tutti::recv take{world};
  std::array<float, 64> v{};
  if (world.rank() == 0) {
    take(v, 1);
    take(v, 2);
    world.transport().spend(server_takes);
    give(v, 1);
    give(v, 2);
  } else {
    world.transport().spend(world.rank() == 2 ? second_takes : 0ms);
    give(v, 0);
    take(v, 0);
  }
}

BOOST_AUTO_TEST_CASE(a_late_server_and_a_late_worker_are_told_apart) {
  auto const blame_of = [](std::chrono::milliseconds server, std::chrono::milliseconds second) {
    return tutti::blame(tutti::causality(traces_of(3, [&](auto& world) { serve_once(world, server, second); })));
  };
  auto const is_near = [](tutti::duration d, tutti::duration expected) {
    return d > expected - 100us && d < expected + 100us;
  };
  auto const by_server = blame_of(30ms, 0ms);
  BOOST_TEST(is_near(by_server.wait_time(1, 0), 30ms));
  BOOST_TEST(is_near(by_server.wait_time(2, 0), 30ms));
  BOOST_TEST(is_near(by_server.caused_time(2), 0ms));
  auto const by_worker = blame_of(0ms, 30ms);
  BOOST_TEST(is_near(by_worker.wait_time(0, 2), 30ms));
  BOOST_TEST(is_near(by_worker.wait_time(1, 2), 30ms));  // it waited for the server, which waited for rank 2
  BOOST_TEST(is_near(by_worker.caused_time(0), 0ms));
  auto const by_both = blame_of(20ms, 30ms);
  BOOST_TEST(is_near(by_both.wait_time(1, 2), 30ms));
  BOOST_TEST(is_near(by_both.wait_time(1, 0), 20ms));
  BOOST_TEST(is_near(by_both.transit_time(1), 0ms));
  auto const text = tutti::straggler_report(by_worker);
  BOOST_TEST(text.find("rank 2 held up the others most: 0.060 s in all") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(what_a_rank_does_besides_is_not_waiting) {
  auto const timelines = tutti::causality(traces_of(2, [](auto& world) {
    tutti::send give{world};
    tutti::recv take{world};
    std::array<float, 4> v{};
    if (world.rank() == 0) {
      auto pending = take.start(v, 1);
      world.trace().record({.kind = event_kind::enter, .time = world.transport().now(), .text = "computing"});
      world.transport().spend(10ms);
      world.trace().record({.kind = event_kind::leave, .time = world.transport().now(), .text = "computing"});
      pending.wait();
    } else {
      world.transport().spend(15ms);
      give(v, 0);
    }
  }));
  tutti::blame const delays(timelines);
  BOOST_TEST((delays.wait_time(0, 1) > 4ms && delays.wait_time(0, 1) < 6ms));
}

BOOST_AUTO_TEST_CASE(what_was_dropped_matches_nothing) {
  auto const long_run = [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(100, 1);
    for (int i = 0; i != 300; ++i) {
      sum(v);
    }
  };
  auto const traces = traces_of(3, long_run);  // some 5,000 events each; the last 1024 are kept
  tutti::causality const timelines(traces);
  std::size_t match_count = 0;
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(traces[r].size() == 1024U);
    for (std::size_t i = 0; i != traces[r].size(); ++i) {
      if (auto const cause = timelines.cause({r, i})) {
        ++match_count;
        BOOST_TEST((timelines.at(*cause).number == traces[r][i].number));
        BOOST_TEST(timelines.at(*cause).bytes == traces[r][i].bytes);
      }
    }
  }
  BOOST_TEST(match_count > 500U);
}

BOOST_AUTO_TEST_CASE(switched_off_nothing_is_kept) {
  for (auto const& t : traces_of<tutti::switched_trace>(2, [](auto& world) { sums::run(world, tutti::ring{}, 0); })) {
    BOOST_TEST(t.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(timelines_travel) {
  timeline t;
  t.add({.kind = event_kind::note, .time = 5ns, .text = "a \"quoted\" text"});
  t.add({.kind = event_kind::send, .time = 7ns, .peer = 3, .bytes = 9});
  auto bytes = t.pack();
  auto const back = timeline::unpack(bytes);
  BOOST_REQUIRE(back.size() == 2U);
  BOOST_TEST(back[0].text == "a \"quoted\" text");
  BOOST_TEST((back[1].peer == 3U && back[1].bytes == 9U && back[1].time == 7ns));
  for (std::size_t less = 0; less != bytes.size(); ++less) {
    BOOST_CHECK_THROW((void)timeline::unpack(std::span(bytes).first(less)), tutti::precondition_error);
  }
}

BOOST_AUTO_TEST_CASE(the_picture_is_valid_json_with_an_arrow_for_each_message) {
  auto traces = traces_of(3, [](auto& world) {
    world.trace().record({.kind = event_kind::enter, .time = world.transport().now(), .text = "a \"phase\"\n"});
    world.transport().spend(1ms);
    world.trace().record({.kind = event_kind::leave, .time = world.transport().now(), .text = "a \"phase\"\n"});
    sums::run(world, tutti::ring{}, 0);
  });
  tutti::causality const timelines(std::move(traces));
  std::array<std::string, 3> const names{"rank 0 (\\host)", "rank 1", "rank 2"};
  std::istringstream text(tutti::chrome_trace::text(timelines, names));
  boost::property_tree::ptree tree;
  boost::property_tree::read_json(text, tree);
  std::map<std::string, std::size_t> phases;
  for (auto const& [key, record] : tree.get_child("traceEvents")) {
    ++phases[record.get<std::string>("ph")];
    BOOST_TEST(record.get<std::string>("name") != "");
    BOOST_TEST(record.get("ts", 0.0) >= 0.0);
  }
  std::size_t messages = 0;
  for (rank_type r = 0; r != 3; ++r) {
    for (std::size_t i = 0; i != timelines.timeline_of(r).size(); ++i) {
      messages += timelines.cause({r, i}) ? 1U : 0U;
    }
  }
  BOOST_TEST(messages >= 24U);
  BOOST_TEST(phases["s"] == messages);
  BOOST_TEST(phases["f"] == messages);
  BOOST_TEST(phases["B"] == 3U);
  BOOST_TEST(phases["E"] == 3U);
  BOOST_TEST(phases["b"] == phases["e"]);
  BOOST_TEST(phases["M"] == 12U);
}

}  // namespace
