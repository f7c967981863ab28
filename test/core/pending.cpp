// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/collective/request.hpp>
#include <tutti/detail/core/pending.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <utility>

/// Every operation is retired once, in whatever order its request goes, its turn comes and its list drops it.
namespace {

using tutti::request;
using tutti::detail::pending;
using tutti::detail::pending_list;
using tutti::detail::pending_use;

/// An operation whose turn is a function of the test. Once retired, it waits in a chain for its next start.
struct operation : pending {
  explicit operation(
      pending_list& l, std::function<bool()> f = [] { return false; })
      : pending{.advance =
                    [](pending& p) {
                      auto& self = static_cast<operation&>(p);
                      ++(self.retired == 0 ? self.turns : self.turns_after);
                      self.ended = self.turn() || self.ended;
                      return self.ended;
                    },
                .cancel =
                    [](pending& p) {
                      auto& self = static_cast<operation&>(p);
                      self.ended = true;
                      self.list.erase(p);
                    },
                .retire =
                    [](pending& p) {
                      ++static_cast<operation&>(p).retired;
                      p.next = idle;
                      idle = &p;
                    },
                .queue = pending_list::collective},
        list(l),
        turn(std::move(f)) {
    list.push_back(*this);
  }
  operation(operation const&) = delete;
  operation& operator=(operation const&) = delete;
  ~operation() { idle = nullptr; }

  static inline pending* idle = nullptr;
  pending_list& list;
  std::function<bool()> turn;
  int turns = 0;
  int turns_after = 0;  ///< after it was retired
  int retired = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_operation_that_ends_while_its_list_has_it_is_retired_when_that_drops_it) {
  pending_list list;
  operation one(list);
  one.given_up = true;
  {
    pending_use const last(one);
    one.ended = true;
  }
  BOOST_TEST(one.retired == 0);
  list.advance(true);
  BOOST_TEST(one.retired == 1);
  BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(a_turn_may_end_the_operation_whose_turn_comes_next) {
  pending_list list;
  request of_second;
  operation first(list, [&] {
    of_second = request();
    return false;
  });
  operation second(list);
  operation third(list);
  of_second = request(second);
  list.advance(true);
  BOOST_TEST(second.retired == 1);
  BOOST_TEST(second.turns + second.turns_after == 0);
  BOOST_TEST(third.turns == 1);
  BOOST_TEST(list.size() == 2U);
}

BOOST_AUTO_TEST_CASE(operations_that_end_in_a_turn_within_a_turn_are_retired_once) {
  pending_list list;
  bool outer = true;
  operation first(list, [&] {
    if (std::exchange(outer, false)) {
      list.advance(true);
    }
    return true;
  });
  operation second(list, [] { return true; });
  operation third(list);
  for (operation* one : {&first, &second}) {
    one->given_up = true;
  }
  list.advance(true);
  for (operation* one : {&first, &second}) {
    BOOST_TEST(one->retired == 1);
    BOOST_TEST(one->turns_after == 0);
  }
  BOOST_TEST(third.retired == 0);
  BOOST_TEST(list.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_stream_is_retired_by_the_stream) {
  pending_list list;
  operation one(list, [] { return true; });
  pending_use::begin(one);
  one.given_up = true;
  list.advance(true);
  BOOST_TEST(one.retired == 0);
  pending_use::end(one);
  BOOST_TEST(one.retired == 1);
}
