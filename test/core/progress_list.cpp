// SPDX-License-Identifier: Apache-2.0
// test: address thread
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
struct counting_entry : progress_entry {
  counting_entry()
      : progress_entry{.move =
                           [](progress_entry& d) noexcept {
                             auto& self = static_cast<counting_entry&>(d);
                             ++self.moves;
                             return self.is_busy;
                           },
                       .arm = [](progress_entry&) { return -1; },
                       .disarm = [](progress_entry& d) noexcept { ++static_cast<counting_entry&>(d).disarms; },
                       .look = [](progress_entry& d) noexcept { ++static_cast<counting_entry&>(d).looks; }} {}
  ~counting_entry() { progress_list::leave(*this); }

  int moves = 0;
  int looks = 0;
  int disarms = 0;
  bool is_busy = true;
};

/// One turn of a thread that waits for `target`.
void wait_for(progress_entry const& target) {
  if (progress_list* const list = progress_list::current_unless_only(target)) {
    list->arm(target);
    list->move(target);
    list->sleep(-1, 0);
    list->disarm(target);
    list->look(target);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_moves_on_all_but_its_own) {
  counting_entry a;
  counting_entry b;
  counting_entry c;
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
  BOOST_TEST((a.disarms == 1 && b.disarms == 0 && c.disarms == 1));
}

BOOST_AUTO_TEST_CASE(what_has_nothing_left_is_dropped_and_slept_on_no_more) {
  counting_entry a;
  counting_entry b;
  progress_list::take(a);
  a.is_busy = false;
  wait_for(b);
  BOOST_TEST((a.moves == 1 && a.disarms == 1 && a.looks == 0));
  BOOST_TEST(progress_list::current_unless_only(b) == nullptr);
  BOOST_TEST(progress_list::is_free(a));
}

BOOST_AUTO_TEST_CASE(what_another_thread_takes_is_its_own_and_has_no_owner_when_that_ends) {
  counting_entry a;
  counting_entry b;
  progress_list::take(a);
  bool is_right = false;
  std::thread([&] {
    bool const was_foreign = !progress_list::is_of_this_thread(a);
    wait_for(b);
    is_right = was_foreign && a.moves == 0;
    progress_list::take(a);
    wait_for(b);
  }).join();
  BOOST_TEST((is_right && a.moves == 1));
  BOOST_TEST(progress_list::is_free(a));
  wait_for(b);
  BOOST_TEST(a.moves == 1);
}

BOOST_AUTO_TEST_CASE(a_thread_lets_go_before_another_one_has_it) {
  counting_entry a;  // not atomic: the thread sanitizer checks
  counting_entry b;
  std::atomic<int> turn{0};
  std::atomic<bool> is_over{false};
  std::thread first([&] {
    for (int number = 0; number < 300; number += 2) {
      while (turn.load() != number) {
        wait_for(b);
      }
      progress_list::take(a);
      ++a.moves;
      turn.store(number + 1);
    }
    while (!is_over.load()) {
      wait_for(b);
    }
  });
  for (int number = 1; number < 300; number += 2) {
    while (turn.load() != number) {
      wait_for(b);
    }
    progress_list::take(a);
    ++a.moves;
    turn.store(number + 1);
  }
  is_over.store(true);
  first.join();
  BOOST_TEST(a.moves >= 300);
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_no_duties) {
  counting_entry a;
  counting_entry b;
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
  struct blocking_entry : counting_entry {
    blocking_entry() {
      move = [](progress_entry& d) noexcept {
        auto& self = static_cast<blocking_entry&>(d);
        self.is_inside.store(true);
        self.is_inside.notify_one();
        self.may_continue.wait(false);
        return true;
      };
    }
    std::atomic<bool> is_inside{false};
    std::atomic<bool> may_continue{false};
  } a;
  counting_entry b;
  std::thread other([&] {
    progress_list::take(a);
    wait_for(b);
  });
  a.is_inside.wait(false);  // in the middle of its turn, with the lock held
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    progress_list::leave(a);
    ::_exit(progress_list::is_free(a) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  a.may_continue.store(true);
  a.may_continue.notify_one();
  other.join();
}

BOOST_AUTO_TEST_CASE(what_a_thread_takes_as_it_ends_has_no_owner) {
  static counting_entry a;
  struct last {
    bool* was_free;
    ~last() {
      progress_list::take(a);
      *was_free = progress_list::is_free(a);
    }
  };
  bool was_free = false;
  std::thread([&] {
    static thread_local last late_user{&was_free};
    counting_entry b;
    progress_list::take(b);  // makes the thread's list, which ends before objects made earlier
    static_cast<void>(late_user);
  }).join();
  BOOST_TEST(was_free);
}

BOOST_AUTO_TEST_CASE(each_fiber_has_its_own) {
  struct fiber_state {
    counting_entry a;
    counting_entry b;
    tutti::detail::fiber* worker;
  } state;
  progress_list::take(state.b);
  tutti::detail::fiber worker(
      std::size_t{256} << 10,
      [](void* p) {
        auto& s = *static_cast<fiber_state*>(p);
        progress_list::take(s.a);
        s.worker->suspend();
        wait_for(s.b);
      },
      &state);
  state.worker = &worker;
  worker.resume();
  counting_entry c;
  wait_for(c);
  BOOST_TEST((state.a.moves == 0 && state.b.moves == 1));
  worker.resume();
  BOOST_TEST((state.a.moves == 1 && state.b.moves == 1));
}

}  // namespace
