// SPDX-License-Identifier: Apache-2.0
// test: address thread left_to_sanitizers
#include <tutti/detail/core/fiber.hpp>
#include <tutti/detail/core/progress_list.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// The progress list: the entries that a thread advances besides the one that it waits for.
namespace {

using tutti::detail::progress_entry;
using tutti::detail::progress_list;

/// Counts its calls.
struct counted : progress_entry {
  counted()
      : progress_entry{.move =
                           [](progress_entry& d) noexcept {
                             auto& self = static_cast<counted&>(d);
                             ++self.moves;
                             return self.busy;
                           },
                       .arm = [](progress_entry&) { return -1; },
                       .disarm = [](progress_entry& d) noexcept { ++static_cast<counted&>(d).disarmed; },
                       .look = [](progress_entry& d) noexcept { ++static_cast<counted&>(d).looks; }} {}
  ~counted() { progress_list::leave(*this); }

  int moves = 0;
  int looks = 0;
  int disarmed = 0;
  bool busy = true;
};

/// One turn of a thread that waits for `own`.
void wait_for(progress_entry const& own) {
  if (progress_list* const others = progress_list::current_unless_only(own)) {
    others->arm(own);
    others->move(own);
    others->sleep(-1, 0);
    others->disarm(own);
    others->look(own);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_moves_on_all_but_its_own) {
  counted a;
  counted b;
  counted c;
  BOOST_TEST(progress_list::current_unless_only(a) == nullptr);
  progress_list::take(a);
  BOOST_TEST(progress_list::current_unless_only(a) == nullptr);
  BOOST_TEST(progress_list::current_unless_only(b) != nullptr);
  progress_list::take(b);
  progress_list::take(b);
  progress_list::take(c);
  wait_for(b);
  BOOST_TEST((a.moves == 1 && b.moves == 0 && c.moves == 1));
  BOOST_TEST((a.looks == 1 && b.looks == 0 && c.looks == 1));
  BOOST_TEST((a.disarmed == 1 && b.disarmed == 0 && c.disarmed == 1));
}

BOOST_AUTO_TEST_CASE(what_has_nothing_left_is_dropped_and_slept_on_no_more) {
  counted a;
  counted b;
  progress_list::take(a);
  a.busy = false;
  wait_for(b);
  BOOST_TEST((a.moves == 1 && a.disarmed == 1 && a.looks == 0));
  BOOST_TEST(progress_list::current_unless_only(b) == nullptr);
  BOOST_TEST(progress_list::is_free(a));
}

BOOST_AUTO_TEST_CASE(what_another_thread_takes_is_its_own_and_has_no_owner_when_that_ends) {
  counted a;
  counted b;
  progress_list::take(a);
  bool as_said = false;
  std::thread([&] {
    bool const was_not_mine = !progress_list::is_of_this_thread(a);
    wait_for(b);
    as_said = was_not_mine && a.moves == 0;
    progress_list::take(a);
    wait_for(b);
  }).join();
  BOOST_TEST((as_said && a.moves == 1));
  BOOST_TEST(progress_list::is_free(a));
  wait_for(b);
  BOOST_TEST(a.moves == 1);
}

BOOST_AUTO_TEST_CASE(a_thread_lets_go_before_another_one_has_it) {
  counted a;  // not atomic: the thread sanitizer checks
  counted b;
  std::atomic<int> turn{0};
  std::atomic<bool> over{false};
  std::thread first([&] {
    for (int mine = 0; mine < 300; mine += 2) {
      while (turn.load() != mine) {
        wait_for(b);
      }
      progress_list::take(a);
      ++a.moves;
      turn.store(mine + 1);
    }
    while (!over.load()) {
      wait_for(b);
    }
  });
  for (int mine = 1; mine < 300; mine += 2) {
    while (turn.load() != mine) {
      wait_for(b);
    }
    progress_list::take(a);
    ++a.moves;
    turn.store(mine + 1);
  }
  over.store(true);
  first.join();
  BOOST_TEST(a.moves >= 300);
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_no_duties) {
  counted a;
  counted b;
  progress_list::take(a);
  ::pid_t const child = ::fork();
  if (child == 0) {
    wait_for(b);
    ::_exit(a.moves == 0 && progress_list::is_free(a) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  wait_for(b);
  BOOST_TEST(a.moves == 1);
}

BOOST_AUTO_TEST_CASE(a_forked_child_does_not_reach_for_the_threads_of_its_parent) {
  struct held : counted {
    held() {
      move = [](progress_entry& d) noexcept {
        auto& self = static_cast<held&>(d);
        self.inside.store(true);
        self.inside.notify_one();
        self.go_on.wait(false);
        return true;
      };
    }
    std::atomic<bool> inside{false};
    std::atomic<bool> go_on{false};
  } a;
  counted b;
  std::thread other([&] {
    progress_list::take(a);
    wait_for(b);
  });
  a.inside.wait(false);  // in the middle of its turn, with the lock held
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    progress_list::leave(a);
    ::_exit(progress_list::is_free(a) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  a.go_on.store(true);
  a.go_on.notify_one();
  other.join();
}

BOOST_AUTO_TEST_CASE(what_a_thread_takes_as_it_ends_has_no_owner) {
  static counted a;
  struct last {
    bool* was_free;
    ~last() {
      progress_list::take(a);
      *was_free = progress_list::is_free(a);
    }
  };
  bool was_free = false;
  std::thread([&] {
    static thread_local last after_its_duties{&was_free};
    counted b;
    progress_list::take(b);  // makes the thread's list, which ends before objects made earlier
    static_cast<void>(after_its_duties);
  }).join();
  BOOST_TEST(was_free);
}

BOOST_AUTO_TEST_CASE(each_fiber_has_its_own) {
  struct both {
    counted a;
    counted b;
    tutti::detail::fiber* one;
  } shared;
  progress_list::take(shared.b);
  tutti::detail::fiber one(
      std::size_t{256} << 10,
      [](void* p) {
        auto& s = *static_cast<both*>(p);
        progress_list::take(s.a);
        s.one->suspend();
        wait_for(s.b);
      },
      &shared);
  shared.one = &one;
  one.resume();
  counted c;
  wait_for(c);
  BOOST_TEST((shared.a.moves == 0 && shared.b.moves == 1));
  one.resume();
  BOOST_TEST((shared.a.moves == 1 && shared.b.moves == 1));
}

}  // namespace
