// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/core/sole_user.hpp>

#include <boost/test/unit_test.hpp>

#include <thread>

namespace {

using tutti::detail::sole_user;
using entry = sole_user::entry;

template <class F>
void in_another_thread(F f) {
  std::thread(f).join();
}

BOOST_AUTO_TEST_CASE(threads_may_take_turns) {
  sole_user user;
  for (int i = 0; i != 3; ++i) {
    BOOST_TEST((user.enter() == entry::first));
    BOOST_TEST((user.enter() == entry::again));
    BOOST_TEST(user.leave());
    bool well = false;
    in_another_thread([&] { well = user.enter() == entry::first && user.leave(); });
    BOOST_TEST(well);
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_comes_while_another_is_in_is_refused_and_the_other_hears_of_it) {
  sole_user user;
  BOOST_TEST((user.enter() == entry::first));
  entry second = entry::first;
  in_another_thread([&] { second = user.enter(); });
  BOOST_TEST((second == entry::conflict));
  BOOST_TEST(!user.leave());
  BOOST_TEST((user.enter() == entry::conflict));  // the guarded state may be damaged
}

BOOST_AUTO_TEST_CASE(an_object_is_lent_while_no_thread_is_inside) {
  sole_user user;
  BOOST_TEST((user.try_enter() == entry::first));
  BOOST_TEST((user.try_enter() == entry::again));
  BOOST_TEST(!user.borrow());
  BOOST_TEST(user.leave());
  BOOST_TEST(user.borrow());
  BOOST_TEST(!user.borrow());
  BOOST_TEST((user.try_enter() == entry::loan));
  user.give_back();
  BOOST_TEST((user.try_enter() == entry::first));
  entry second = entry::first;
  in_another_thread([&] { second = user.try_enter(); });
  BOOST_TEST((second == entry::conflict));
  BOOST_TEST(user.leave());  // a conflict is noted only by `refuse_all`
  user.refuse_all();
  BOOST_TEST(!user.borrow());
  BOOST_TEST((user.try_enter() == entry::conflict));
}

/// A borrower and the user are never inside at the same time, and each sees what the other has written.
BOOST_AUTO_TEST_CASE(a_borrower_and_the_user_take_turns) {
  sole_user user;
  int value = 0;
  constexpr int turns = 20'000;
  int loans = 0;
  std::thread borrower([&] {
    while (loans < turns) {
      if (user.borrow()) {
        ++value;
        ++loans;
        user.give_back();
      } else {
        std::this_thread::yield();
      }
    }
  });
  int entries = 0;
  while (entries < turns) {
    if (user.try_enter() == entry::first) {
      ++value;
      ++entries;
      BOOST_REQUIRE(user.leave());
    } else {
      std::this_thread::yield();
    }
  }
  borrower.join();
  BOOST_TEST(value == 2 * turns);
}

}  // namespace
