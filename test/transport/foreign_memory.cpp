// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/shared_memory/foreign_memory.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <barrier>
#include <numeric>
#include <thread>
#include <vector>

/// Touching memory and taking it back, in one thread and in several.
namespace {

using namespace tutti;
using namespace tutti::detail;

/// A segment in this process, for n members.
class world {
 public:
  explicit world(rank_type n) : lines_(mail_segment::bytes(n) / cache_line + 1), segment_(lines_.data()->bytes, n) {
    for (rank_type me = 0; me < n; ++me) {
      segment_.construct(me);
    }
  }
  [[nodiscard]] mail_segment const& segment() const { return segment_; }
  [[nodiscard]] bool touched_by(rank_type r) const { return segment_.member(r).touching.load() != 0; }
  void recover() { segment_.fault().store(0); }
  void fail() { segment_.fault().store(fault{failure::cancelled, 0, 0}.pack()); }

 private:
  struct alignas(cache_line) line {
    std::byte bytes[cache_line];
  };
  std::vector<line> lines_;
  mail_segment segment_;
};

auto const none_died = [](rank_type) { return false; };

BOOST_AUTO_TEST_CASE(a_mark_stands_until_the_last_touch_ends) {
  world w(2);
  foreign_memory reader(w.segment(), 1);
  BOOST_TEST(!w.touched_by(1));
  BOOST_TEST(reader.start_touching(0, false));
  BOOST_TEST(reader.start_touching(0, false));
  reader.stop_touching();
  BOOST_TEST(w.touched_by(1));
  BOOST_TEST(!w.touched_by(0));
  reader.stop_touching();
  BOOST_TEST(!w.touched_by(1));
}

BOOST_AUTO_TEST_CASE(no_reader_starts_after_a_fault) {
  world w(2);
  foreign_memory reader(w.segment(), 1);
  w.fail();
  BOOST_TEST(!reader.start_touching(0, false));
  BOOST_TEST(!w.touched_by(1));
}

BOOST_AUTO_TEST_CASE(quiescence_ends_the_own_touches) {
  world w(2);
  foreign_memory reader(w.segment(), 1);
  BOOST_TEST(reader.start_touching(0, false));
  w.fail();
  reader.quiesce(none_died, no_deadline);  // two ranks that quiesce at once must not wait for each other
  BOOST_TEST(!w.touched_by(1));
  reader.stop_touching();  // ends the reading of a message: harmless
  BOOST_TEST(!w.touched_by(1));
}

BOOST_AUTO_TEST_CASE(quiescence_does_not_wait_for_the_dead) {
  world w(2);
  foreign_memory peer(w.segment(), 1);
  BOOST_TEST(peer.start_touching(0, true));
  w.fail();
  foreign_memory(w.segment(), 0).quiesce([](rank_type r) { return r != 0; }, no_deadline);
  BOOST_TEST(w.touched_by(1));  // the mark is as the peer left it
}

BOOST_AUTO_TEST_CASE(quiescence_waits_for_readers_of_this_memory_until_its_limit) {
  world w(3);
  foreign_memory peer(w.segment(), 1);
  BOOST_TEST(peer.start_touching(0, false));
  w.fail();
  foreign_memory(w.segment(), 2).quiesce(none_died, no_deadline);  // the peer touches other memory
  time_point const limit = steady_now() + std::chrono::milliseconds(20);
  foreign_memory(w.segment(), 0).quiesce(none_died, limit);
  BOOST_TEST((steady_now() > limit));
}

BOOST_AUTO_TEST_CASE(quiescence_waits_for_writers_without_a_limit) {
  for (rank_type const other : {rank_type{0}, rank_type{2}}) {  // reads in this memory, and in another one too
    world w(3);
    bool has_ended = false;
    bool was_waited_for = false;
    foreign_memory peer(w.segment(), 1);
    BOOST_TEST(peer.start_touching(0, true));
    BOOST_TEST(peer.start_touching(other, false));
    w.fail();
    std::thread owner([&] {
      int looks = 0;
      foreign_memory(w.segment(), 0)
          .quiesce(
              [&](rank_type r) {
                if (r == 1 && ++looks == 5) {
                  has_ended = true;
                  peer.touch_no_more();
                }
                return false;
              },
              steady_now());
      was_waited_for = has_ended;
    });
    owner.join();
    BOOST_TEST(was_waited_for);
  }
}

/// Readers that start while the owner takes its memory back, many times: none sees it gone.
BOOST_AUTO_TEST_CASE(no_reader_touches_what_was_taken_back) {
  constexpr rank_type ranks = 3;
  constexpr int rounds = 20000;
  world w(ranks);
  std::barrier meet(ranks);
  int memory = 0;  // not atomic: the thread sanitizer checks it
  std::vector<int> touches(ranks, 0);
  std::vector<int> wrong(ranks, 0);
  std::vector<std::thread> readers;
  for (rank_type me = 1; me < ranks; ++me) {
    readers.emplace_back([&, me] {
      foreign_memory reader(w.segment(), me);
      for (int round = 0; round < rounds; ++round) {
        meet.arrive_and_wait();
        if (reader.start_touching(0, false)) {
          ++touches[me];
          wrong[me] += memory != round ? 1 : 0;
          reader.stop_touching();
        }
        meet.arrive_and_wait();
      }
    });
  }
  foreign_memory owner(w.segment(), 0);
  for (int round = 0; round < rounds; ++round) {
    w.recover();
    memory = round;
    meet.arrive_and_wait();
    w.fail();
    owner.quiesce(none_died, no_deadline);
    memory = -1;
    meet.arrive_and_wait();
  }
  for (std::thread& t : readers) {
    t.join();
  }
  BOOST_TEST(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
  BOOST_TEST(std::accumulate(touches.begin(), touches.end(), 0) > 0);
}

}  // namespace
