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

}  // namespace
