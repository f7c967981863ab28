// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/extend/recorder.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <thread>
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

BOOST_AUTO_TEST_CASE(labels_are_copied_and_cut) {
  recorder::storage memory;
  recorder r(memory);
  tutti::labelled_call c(some_call(1));
  std::string label(50, 'x');
  c.label = label.c_str();
  r.start(c, {});
  label.assign(50, 'y');
  r.start(some_call(1), {});
  BOOST_TEST(r.text() == "#0 allreduce '" + std::string(31, 'x') + "' (sum float32 x 1, ring): started\n" +
                             "#0 allreduce(sum float32 x 1, ring): started\n");
}

BOOST_AUTO_TEST_CASE(the_last_wait_is_kept) {
  using namespace std::chrono_literals;
  recorder::storage memory;
  recorder r(memory);
  recorder::wait w;
  BOOST_TEST(!memory.read(w));
  r.note({.place = 3, .begin = 5s, .last_look = 7s, .peer = 11, .step = 13, .thread = 17});
  BOOST_TEST_REQUIRE(memory.read(w));
  BOOST_TEST((w.place == 3 && w.begin == 5s && w.last_look == 7s && w.peer == 11 && w.step == 13 && w.thread == 17));
}

/// A reader gets only entries and waits that were written together, however often they are overwritten.
BOOST_AUTO_TEST_CASE(nothing_is_read_in_parts) {
  recorder::storage memory;
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    recorder r(memory);
    while (!is_over.load(std::memory_order_relaxed)) {
      std::uint64_t const i = r.start_count();
      auto const small = static_cast<std::uint32_t>(i);
      tutti::labelled_call c(some_call(i));
      std::string const label = std::to_string(i);
      c.root = c.identity = small;
      c.label = label.c_str();
      r.note({i, tutti::time_point(static_cast<std::int64_t>(i)), tutti::time_point(static_cast<std::int64_t>(i)),
              small, small, small});
      r.finish(r.start(c, {i, small, small}), i % 2 == 0 ? recorder::state::failed : recorder::state::completed);
    }
  });
  bool is_whole = true;
  std::size_t entries = 0;
  for (std::size_t reads = 0; reads < 20'000 || (entries < 1000 && reads < 100'000'000); ++reads) {
    memory.for_each([&](recorder::entry const& e) {
      auto const small = static_cast<std::uint32_t>(e.place);
      bool const has_ended = e.current_state != recorder::state::started;
      is_whole = is_whole && e.call_record.count == e.place && e.call_record.root == small &&
                 e.call_record.identity == small && e.number == tutti::operation_number{e.place, small, small} &&
                 e.label == std::to_string(e.place) && std::string_view(e.call_record.topology) == "ring" &&
                 (!has_ended || (e.current_state == recorder::state::failed) == (e.place % 2 == 0));
      ++entries;
    });
    if (recorder::wait w; memory.read(w)) {
      auto const small = static_cast<std::uint32_t>(w.place);
      is_whole = is_whole && w.begin.count() == static_cast<std::int64_t>(w.place) && w.last_look == w.begin &&
                 w.peer == small && w.step == small && w.thread == small;
    }
  }
  is_over = true;
  writer.join();
  BOOST_TEST(is_whole);
  BOOST_TEST(entries >= 1000U);
}

}  // namespace
