// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/trace.hpp>
#include <tutti/trace/memory_trace.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace {

std::size_t allocations = 0;

}  // namespace

// Not inlined, or g++ would see memory of operator new passed to free, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const p = std::malloc(bytes)) {
    return p;
  }
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace {

using tutti::event;
using tutti::event_kind;

struct traced_with_nothing {
  int x;
  [[no_unique_address]] tutti::no_trace trace;
};
static_assert(std::is_empty_v<tutti::no_trace> && sizeof(traced_with_nothing) == sizeof(int));

// The event is not even made: making it is no constant expression, yet this is one.
event make_at_run_time() {
  return {};
}
constexpr bool free_of_cost = [] {
  tutti::no_trace trace;
  tutti::record(trace, [] { return make_at_run_time(); });
  return true;
}();
static_assert(free_of_cost);

static_assert(tutti::tracer<tutti::no_trace> && tutti::tracer<tutti::memory_trace>);
struct throwing_tracer {
  static constexpr bool is_enabled = true;
  void record(event const&) {}
};
static_assert(!tutti::tracer<throwing_tracer> && !tutti::tracer<int>);

event make_event(std::uint64_t i) {
  return {.kind = event_kind::send, .number = {i}, .peer = 1, .bytes = 4 * i};
}

std::vector<std::uint64_t> sequences(tutti::memory_trace const& trace) {
  std::vector<std::uint64_t> result;
  trace.for_each([&](event const& e) { result.push_back(e.number.sequence); });
  return result;
}

BOOST_AUTO_TEST_CASE(events_are_kept_as_reported) {
  tutti::memory_trace trace;
  BOOST_TEST(trace.size() == 0U);
  event const original{.kind = event_kind::receive,
                       .time = tutti::time_point(5),
                       .number = {7, 1, 2},
                       .step = 2,
                       .peer = 3,
                       .bytes = 64,
                       .text = "part"};
  tutti::record(trace, [&] { return original; });
  BOOST_TEST(trace.size() == 1U);
  trace.for_each([&](event const& e) {
    BOOST_TEST((e.kind == original.kind && e.time == original.time && e.number == original.number));
    BOOST_TEST(
        (e.step == original.step && e.peer == original.peer && e.bytes == original.bytes && e.text == original.text));
  });
}

BOOST_AUTO_TEST_CASE(the_latest_are_kept) {
  tutti::memory_trace trace(3);
  using numbers = std::vector<std::uint64_t>;
  trace.record(make_event(0));
  trace.record(make_event(1));
  BOOST_TEST((sequences(trace) == numbers{0, 1}));
  trace.record(make_event(2));
  BOOST_TEST((sequences(trace) == numbers{0, 1, 2}));
  BOOST_TEST(trace.dropped_count() == 0U);
  trace.record(make_event(3));
  trace.record(make_event(4));
  BOOST_TEST((sequences(trace) == numbers{2, 3, 4}));
  BOOST_TEST(trace.size() == 3U);
  BOOST_TEST(trace.dropped_count() == 2U);
  trace.clear();
  BOOST_TEST(sequences(trace).empty());
  trace.record(make_event(5));
  BOOST_TEST((sequences(trace) == numbers{5}));
}

BOOST_AUTO_TEST_CASE(texts_are_copied_and_cut) {
  tutti::memory_trace trace(2);
  {
    std::string text = "refused a connection from 10.0.0.7:4242: not tutti";
    trace.record({.text = text});
    text.assign(text.size(), '#');
  }
  std::string const long_text(1000, 'x');
  trace.record({.text = long_text});
  std::vector<std::string> texts;
  trace.for_each([&](event const& e) { texts.emplace_back(e.text); });
  BOOST_TEST(texts.at(0) == "refused a connection from 10.0.0.7:4242: not tutti");
  BOOST_TEST(texts.at(1) == std::string(tutti::memory_trace::text_capacity, 'x'));
  trace.record({.text = {}});
  trace.record({.text = "z"});
  texts.clear();
  trace.for_each([&](event const& e) { texts.emplace_back(e.text); });
  BOOST_TEST(texts.at(0).empty());
  BOOST_TEST(texts.at(1) == "z");
}

BOOST_AUTO_TEST_CASE(recording_does_not_allocate) {
  tutti::memory_trace trace(8);
  std::string const text(200, 'x');
  std::size_t const initial_count = allocations;
  for (std::uint64_t i = 0; i < 100; ++i) {
    event e = make_event(i);
    e.text = text;
    trace.record(e);
  }
  std::size_t const final_count = allocations;
  BOOST_TEST(initial_count > 0U);  // allocations are counted
  BOOST_TEST(final_count == initial_count);
}

BOOST_AUTO_TEST_CASE(a_trace_can_be_moved_into_a_communicator) {
  tutti::memory_trace first(4);
  first.record(make_event(1));
  tutti::memory_trace second = std::move(first);
  second.record(make_event(2));
  BOOST_TEST((sequences(second) == std::vector<std::uint64_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(room_for_nothing_is_refused) {
  BOOST_CHECK_THROW(tutti::memory_trace(0), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(every_kind_has_a_name) {
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(event_kind::note); ++k) {
    names.insert(tutti::name(static_cast<event_kind>(k)));
  }
  BOOST_TEST(names.size() == static_cast<std::size_t>(event_kind::note) + 1);
}

}  // namespace
