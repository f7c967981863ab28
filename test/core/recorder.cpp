// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/recorder.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using tutti::recorder;

tutti::call some_call(std::uint64_t count) {
  tutti::call c = tutti::make_call(tutti::operation_kind::allreduce, "float32", "sum", "ring");
  c.count = count;
  return c;
}

BOOST_AUTO_TEST_CASE(places_are_in_order_of_starting) {
  recorder::storage memory;
  recorder r(memory);
  for (std::uint64_t i = 0; i < 40; ++i) {
    BOOST_TEST(r.start(some_call(i), {}) == i);
  }
}

BOOST_AUTO_TEST_CASE(the_last_operations_are_kept_oldest_first) {
  recorder::storage memory;
  recorder r(memory);
  for (std::uint64_t i = 0; i < recorder::capacity + 3; ++i) {
    r.start(some_call(i), {i});
  }
  std::vector<std::uint64_t> places;
  r.for_each([&](recorder::entry const& e) {
    BOOST_TEST(e.call_record.count == e.place);
    BOOST_TEST(e.number.sequence == e.place);
    places.push_back(e.place);
  });
  BOOST_TEST(places.size() == recorder::capacity);
  BOOST_TEST(places.front() == 3U);
  BOOST_TEST(places.back() == recorder::capacity + 2);
}

BOOST_AUTO_TEST_CASE(an_outcome_is_noted_unless_the_operation_is_no_longer_kept) {
  recorder::storage memory;
  recorder r(memory);
  auto const old = r.start(some_call(0), {7});
  auto const other = r.start(some_call(1), {7, 1, 2});
  r.finish(other, recorder::state::failed);
  BOOST_TEST(r.text() ==
             "#7 allreduce(sum float32 x 0, ring): started\n"
             "#7 allreduce(sum float32 x 1, from rank 1 to rank 2, ring): failed\n");
  for (std::size_t i = 0; i < recorder::capacity; ++i) {
    r.start(some_call(9), {});
  }
  r.finish(old, recorder::state::completed);
  BOOST_TEST(r.text().find("completed") == std::string::npos);
}

}  // namespace
