// SPDX-License-Identifier: Apache-2.0
// test: address
#include "../../tools/inspect/explanation.hpp"

#include "../../tools/inspect/output.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// The first sentence of tools/inspect, for ranks in given states. A rank r has pid 100 + r.
namespace {

using namespace std::chrono_literals;
using inspect::activity;
using tutti::rank_type;
using tutti::recorder;

constexpr tutti::time_point now = 1000s;

recorder::entry entry(std::uint64_t place, std::uint64_t number, recorder::state s,
                      tutti::operation_kind kind = tutti::operation_kind::allreduce,
                      tutti::operation_number pair = {}) {
  recorder::entry e{};
  e.place = place;
  e.number = {number, pair.sender, pair.receiver};
  e.call_record = tutti::make_call(kind, "float32", "", "ring");
  e.current_state = s;
  return e;
}
recorder::entry message(std::uint64_t place, rank_type sender, rank_type receiver,
                        recorder::state s = recorder::state::started) {
  return entry(place, 0, s, tutti::operation_kind::transfer, {0, sender, receiver});
}

/// A world whose ranks have all ended allreduce #0.
struct world {
  explicit world(rank_type size, std::string name = "world", std::uint64_t identity = 1) { add(size, name, identity); }

  void add(rank_type size, std::string const& name, std::uint64_t identity) {
    for (rank_type r = 0; r < size; ++r) {
      scene.views.push_back({.communicator = identity,
                             .name = name,
                             .rank = r,
                             .size = size,
                             .pid = 100 + r,
                             .thread = 100 + r,
                             .state = activity::sleeps,
                             .channel = "do_poll",
                             .operations = {entry(0, 0, recorder::state::completed)}});
    }
  }
  /// Lets the rank wait in an operation.
  void wait(std::size_t i, rank_type peer, recorder::entry const& e, tutti::duration duration) {
    scene.views[i].operations.push_back(e);
    scene.views[i].noted_wait = recorder::wait{e.place, now - duration, now, peer, 3, scene.views[i].thread};
  }
  void wait(std::size_t i, rank_type peer, tutti::duration duration = 5s) {
    wait(i, peer, entry(1, 1, recorder::state::started), duration);
  }
  void is(std::size_t i, activity a, std::string const& channel = "") {
    scene.views[i].state = a;
    scene.views[i].channel = channel;
  }
  void explains(std::string const& sentence) const { BOOST_TEST(inspect::explain(scene).front() == sentence); }

  inspect::sight scene{.now = now};
};

constexpr char const* two_wait = "; 2 ranks wait for it, the longest for 9.0 s";

/// Rank 2 is behind: ranks 0 and 1 wait for it, directly and through rank 0.
world late_world() {
  world w(3);
  w.wait(0, 2, 9s);
  w.wait(1, 0, 5s);
  return w;
}

void explains_behind(activity a, std::string const& channel, std::string const& words) {
  world w = late_world();
  w.is(2, a, channel);
  w.explains("rank 2 (pid 102) has not called allreduce #1 of world: it " + words + two_wait);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_that_is_behind) {
  explains_behind(activity::computes, "", "computes");
  explains_behind(activity::on_lock, "futex_do_wait", "waits for a lock of the program");
  explains_behind(activity::on_disk, "io_schedule",
                  "waits for a disk or another device (uninterruptible, in io_schedule)");
  explains_behind(activity::stopped, "", "is stopped by a signal (SIGSTOP; SIGCONT continues it)");
  explains_behind(activity::traced, "", "is stopped by a debugger");
  explains_behind(activity::sleeps, "hrtimer_nanosleep", "sleeps for a time that it has set");
  explains_behind(activity::sleeps, "pipe_read", "waits for a pipe");
  explains_behind(activity::sleeps, "some_function", "sleeps in the system, in some_function");
  explains_behind(activity::unknown, "", "computes, or waits outside of tutti");
  world w = late_world();
  w.is(2, activity::on_lock);
  w.scene.views[2].others_compute = true;
  w.explains(
      "rank 2 (pid 102) has not called allreduce #1 of world: it waits for a lock of the program, while other "
      "threads of it compute; 2 ranks wait for it, the longest for 9.0 s");
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_gone_or_elsewhere) {
  world w = late_world();
  w.is(2, activity::absent);
  w.scene.views[2].has_record = false;
  w.explains(std::string("rank 2 (pid 102) of world is gone") + two_wait);
  w.is(2, activity::computes);
  w.explains(std::string("rank 2 (pid 102) of world has left it, or keeps no record; it computes") + two_wait);
  w.scene.views.pop_back();
  w.explains(std::string("rank 2 of world is not seen here, mostly because it runs on another host: inspect it there") +
             two_wait);
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_in_the_operation_and_does_not_advance_it) {
  for (auto const& [s, words] :
       {std::pair(recorder::state::started, "is in"), std::pair(recorder::state::completed, "has ended"),
        std::pair(recorder::state::failed, "has an error in")}) {
    world w = late_world();
    w.is(2, activity::computes);
    w.scene.views[2].operations.push_back(entry(1, 1, s));
    w.explains("rank 2 (pid 102) " + std::string(words) + " allreduce #1 of world: it computes" + two_wait);
  }
  world w = late_world();
  w.is(2, activity::computes);
  w.scene.views[2].operations.push_back(entry(1, 1, recorder::state::started, tutti::operation_kind::barrier));
  w.explains(std::string("rank 2 (pid 102) has called barrier(float32 x 0, ring) as #1 of world, not "
                         "allreduce(float32 x 0, ring): it computes") +
             two_wait);
}

BOOST_AUTO_TEST_CASE(a_rank_that_waits_elsewhere) {
  world w = late_world();
  w.wait(2, 0, message(1, 0, 2), 7s);
  w.explains(
      "rank 2 (pid 102) has not called allreduce #1 of world: it waits for rank 0 in send/recv #0 from rank 0 to "
      "rank 2 of world, for 7.0 s; 2 ranks wait for it, the longest for 9.0 s");
  world any_rank = late_world();
  any_rank.wait(2, tutti::no_rank, message(1, tutti::no_rank, tutti::no_rank), 7s);
  any_rank.explains(
      "rank 2 (pid 102) has not called allreduce #1 of world: it waits for a message of any rank in send/recv "
      "#0 of world, for 7.0 s; 2 ranks wait for it, the longest for 9.0 s");
  world two = late_world();
  two.add(3, "world/1:0", 2);
  two.wait(5, 1, 7s);  // there, ranks 0 and 1 have not called
  two.explains(
      "rank 2 (pid 102) has not called allreduce #1 of world: it waits for rank 1 in allreduce #1 of "
      "world/1:0, another communicator, for 7.0 s; 2 ranks wait for it, the longest for 9.0 s");
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_each_other) {
  world w(2);
  w.wait(0, 1, message(1, 1, 0), 4s);
  w.wait(1, 0, message(1, 0, 1), 3s);
  w.explains(
      "ranks wait for each other: rank 0 (pid 100) waits for rank 1 in send/recv #0 from rank 1 to rank 0 of "
      "world, rank 1 (pid 101) waits for rank 0 in send/recv #0 from rank 0 to rank 1 of world, for 4.0 s");
  world ring(3);
  for (rank_type r = 0; r < 3; ++r) {
    ring.wait(r, (r + 2) % 3, 3min);
  }
  ring.explains(
      "3 ranks are in allreduce #1 of world and wait for messages of each other, which are under way, or "
      "lost, for 3 min 0 s");
}

/// The worst of several causes comes first: ranks that cannot run, then what most ranks wait for.
BOOST_AUTO_TEST_CASE(the_cause_of_most_waits_comes_first) {
  world w(6);
  w.is(4, activity::computes);
  w.is(5, activity::computes);
  w.wait(0, 4);
  w.wait(1, 5);
  w.wait(2, 1);
  w.explains(
      "rank 5 (pid 105) has not called allreduce #1 of world: it computes; 2 ranks wait for it, the longest for "
      "5.0 s");
  w.is(4, activity::stopped);
  w.explains(
      "rank 4 (pid 104) has not called allreduce #1 of world: it is stopped by a signal (SIGSTOP; SIGCONT "
      "continues it); 1 rank waits for it, for 5.0 s");
  BOOST_TEST(inspect::explain(w.scene).size() == 2U);
  w.is(4, activity::computes);
  w.is(3, activity::stopped);  // Nothing waits for it.
  w.explains(
      "rank 3 (pid 103) of world is stopped by a signal (SIGSTOP; SIGCONT continues it); no rank waits for it yet");
  BOOST_TEST(inspect::explain(w.scene).size() == 3U);
}

BOOST_AUTO_TEST_CASE(no_rank_waits) {
  world w(3);
  w.is(1, activity::computes);
  w.explains("no rank waits for a certain other one: 1 computes, 2 waits for descriptors (poll)");
  w.is(2, activity::absent);
  w.explains("rank 2 (pid 102) of world is gone; no rank waits for it yet");
  world failed_world(2);
  failed_world.scene.views[1].operations.push_back(entry(1, 1, recorder::state::failed));
  failed_world.explains(
      "rank 1 (pid 101) has an error in allreduce #1 of world: its exception says why; no rank waits");
}

/// A wait is over when its operation has ended, is no longer recorded, or is looked at no more.
BOOST_AUTO_TEST_CASE(waits_end) {
  world w(2);
  w.is(1, activity::computes);
  w.wait(0, 1);
  BOOST_TEST(inspect::waiting_operation(w.scene.views[0], now) != nullptr);
  w.scene.views[0].operations.back().current_state = recorder::state::completed;
  BOOST_TEST(inspect::waiting_operation(w.scene.views[0], now) == nullptr);
  w.scene.views[0].operations = {entry(20, 20, recorder::state::started)};
  BOOST_TEST(inspect::waiting_operation(w.scene.views[0], now) == nullptr);
  world old(2);
  old.wait(0, 1);
  BOOST_TEST(inspect::waiting_operation(old.scene.views[0], now + 5s) == nullptr);
  old.is(0, activity::stopped);
  BOOST_TEST(inspect::waiting_operation(old.scene.views[0], now + 5s) != nullptr);
}

/// Ranks that are threads of one process are told apart.
BOOST_AUTO_TEST_CASE(threads) {
  world w = late_world();
  for (auto& v : w.scene.views) {
    v.pid = 100;
  }
  w.is(2, activity::computes);
  w.explains(
      "rank 2 (pid 100, thread 102) has not called allreduce #1 of world: it computes; 2 ranks wait for it, the "
      "longest for 9.0 s");
}

BOOST_AUTO_TEST_CASE(output) {
  world w = late_world();
  w.is(2, activity::absent);
  w.scene.views[2].has_record = false;
  BOOST_TEST(inspect::to_text(w.scene) ==
             "rank 2 (pid 102) of world is gone; 2 ranks wait for it, the longest for 9.0 s\n\n"
             "  communicator  rank    pid  it     last operation                            waits for\n"
             "  world         0 of 3  100  waits  #1 allreduce(float32 x 0, ring): started  rank 2, step 3, for 9.0 s\n"
             "  world         1 of 3  101  waits  #1 allreduce(float32 x 0, ring): started  rank 0, step 3, for 5.0 s\n"
             "  world         2 of 3  102  gone   (no record)\n");
  std::string const json = inspect::to_json(w.scene);
  BOOST_TEST(json.find("\"waits\": {\"for\": 2, \"step\": 3, \"seconds\": 9.000, \"operation\": {\"number\": 1, "
                       "\"call\": \"allreduce(float32 x 0, ring)\", \"state\": \"started\"}}") != json.npos,
             json);
}

/// Dumps may lack one of a rank; they have the hosts, and the first error.
BOOST_AUTO_TEST_CASE(dumps) {
  world w = late_world();
  w.scene.is_from_dumps = true;
  w.scene.views[0].error = "the second";
  w.scene.views[0].error_time = 2;
  w.scene.views[1].error = "the first";
  w.scene.views[1].error_time = 1;
  w.scene.views[2].has_record = w.scene.views[2].is_seen = false;
  w.scene.views[2].state = activity::unknown;
  std::string const no_dump = " of world has written no dump: it was gone, or in no call";
  w.explains("rank 2 (pid 102)" + no_dump + two_wait);
  BOOST_TEST(inspect::explain(w.scene).back() == "the first error, of rank 1 (pid 101): the first");
  for (auto& v : w.scene.views) {
    v.host = "node" + std::to_string(v.rank);
    v.pid = 100;
  }
  w.explains("rank 2 (node2, pid 100)" + no_dump + two_wait);
  BOOST_TEST(
      inspect::to_text(w.scene).find(
          "  communicator  rank    host and pid  it       last operation                            waits for\n"
          "  world         0 of 3  node0 100     waits    #1 allreduce(float32 x 0, ring): started  rank 2, step 3,"
          " for 9.0 s\n") != std::string::npos);
  w.scene.views.pop_back();
  w.explains("rank 2" + no_dump + two_wait);
  world quick(1);
  quick.scene.views[0].error = "lost";
  quick.explains("the first error, of rank 0 (pid 100): lost");
}

/// Texts in JSON are UTF-8, whatever bytes names have.
BOOST_AUTO_TEST_CASE(json_texts) {
  std::string const mark = "\xef\xbf\xbd";
  auto const check = [](std::string const& text, std::string const& expected) {
    BOOST_TEST(inspect::quote(text) == "\"" + expected + "\"");
  };
  check("a\"b\\c\n", "a\\\"b\\\\c?");
  for (std::string const text : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                                 "Gr\xc3\xbc\xc3\x9f"
                                 "e \xe2\x82\xac"}) {
    check(text, text);
    check(text + "x", text + "x");
  }
  for (std::string const text : {"\x80", "\xbf", "\xff", "\xc3", "\xe2\x82", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf",
                                 "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    std::string marks;
    for (std::size_t i = 0; i < text.size(); ++i) {
      marks += mark;
    }
    check(text, marks);
    check(text + "x", marks + "x");
  }
  world w(1, "w\xe9lt");
  std::string const json = inspect::to_json(w.scene);
  BOOST_TEST(json.find("\"communicator\": \"w" + mark + "lt\"") != json.npos, json);
}
