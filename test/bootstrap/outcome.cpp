// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/bootstrap/threads.hpp>

#include <boost/test/unit_test.hpp>

#include <random>

namespace {

using tutti::error;
using tutti::error_facts;
using tutti::rank_failure;
using tutti::rank_type;
using tutti::detail::decode;
using tutti::detail::encode;

/// Error facts of every kind, with short and long texts, including the values that mean "no rank" and "none".
error_facts any_facts(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const text = [&] { return std::string(random() % 300, static_cast<char>(random())); };
  auto const rank = [&] { return random() % 4 == 0 ? tutti::no_rank : static_cast<rank_type>(random()); };
  error_facts facts{.kind = static_cast<tutti::failure>(1 + random() % 6),
                    .communicator = text(),
                    .operation = text(),
                    .sequence = random(),
                    .step = static_cast<std::uint32_t>(random()),
                    .self = rank(),
                    .at_fault = {}};
  for (auto left = random() % 5; left != 0; --left) {
    facts.at_fault.push_back(rank());
  }
  return facts;
}

std::string any_text(std::uint64_t seed) {
  return std::string(seed * 37 % 1000, static_cast<char>(seed));
}

/// `value()` throws an error equal, field by field, to the error that the rank threw.
template <class Outcome>
void check_rethrown(Outcome const& end, std::uint64_t seed) {
  error_facts const facts = any_facts(seed);
  try {
    end.value();
    BOOST_ERROR("no error was thrown");
  } catch (error const& e) {
    BOOST_TEST((e.kind() == facts.kind));
    BOOST_TEST(e.communicator() == facts.communicator);
    BOOST_TEST(e.operation() == facts.operation);
    BOOST_TEST(e.sequence() == facts.sequence);
    BOOST_TEST(e.step() == facts.step);
    BOOST_TEST(e.self() == facts.self);
    BOOST_TEST((e.at_fault() == facts.at_fault));
    BOOST_TEST((e.facts() == facts));
    BOOST_TEST(e.what() == any_text(seed).c_str());
  }
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  for (std::uint64_t seed = 0; seed != 200; ++seed) {
    rank_failure const original(error(any_facts(seed), any_text(seed)));
    rank_failure read;
    BOOST_TEST(decode(encode(original), read));
    BOOST_TEST((static_cast<error_facts const&>(read) == static_cast<error_facts const&>(original)));
    BOOST_TEST(read.text == original.text);
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_were_cut_are_no_failure) {
  std::string const whole = encode(rank_failure(error(any_facts(3), any_text(3))));
  for (std::size_t length = 0; length != whole.size(); ++length) {
    rank_failure read;
    BOOST_TEST(!decode(std::string_view(whole).substr(0, length), read));
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_a_thread_is_thrown_again_with_all_its_facts) {
  auto const ends =
      tutti::detail::run_threads(8, [](auto& seat) { throw error(any_facts(seat.rank()), any_text(seat.rank())); });
  for (rank_type r = 0; r != ends.size(); ++r) {
    check_rethrown(ends[r], r);
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_a_process_is_thrown_again_with_all_its_facts) {
  auto const ends =
      tutti::detail::run_processes(8, [](auto& seat) { throw error(any_facts(seat.rank()), any_text(seat.rank())); });
  for (rank_type r = 0; r != ends.size(); ++r) {
    check_rethrown(ends[r], r);
  }
}

/// A user's exception.
struct overdrawn : std::range_error {
  explicit overdrawn(int deficit) : std::range_error("overdrawn"), amount(deficit) {}
  int amount;
};

/// Throws a different exception in each rank.
void throw_by_rank(rank_type r) {
  switch (r) {
    case 0:
      throw overdrawn(12);
    case 1:
      throw 7;
    case 2:
      throw tutti::precondition_error("a mistake", std::source_location::current());
    default:
      throw error(any_facts(r), any_text(r));
  }
}

BOOST_AUTO_TEST_CASE(any_exception_of_a_thread_is_thrown_again_as_it_was) {
  auto const ends = tutti::detail::run_threads(4, [](auto& seat) { throw_by_rank(seat.rank()); });
  for (int time = 0; time != 2; ++time) {  // a value may be read twice
    BOOST_CHECK_EXCEPTION(ends[0].value(), overdrawn, [](overdrawn const& e) { return e.amount == 12; });
    BOOST_CHECK_EXCEPTION(ends[1].value(), int, [](int e) { return e == 7; });
    BOOST_CHECK_THROW(ends[2].value(), tutti::precondition_error);
    check_rethrown(ends[3], 3);
  }
  BOOST_TEST(ends[0].failure().text == "overdrawn");
}

BOOST_AUTO_TEST_CASE(of_other_exceptions_of_a_process_the_text_is_thrown_again) {
  auto const ends = tutti::detail::run_processes(3, [](auto& seat) { throw_by_rank(seat.rank()); });
  for (std::string const text : {"overdrawn", "an exception that is not a std::exception", "a mistake"}) {
    auto const& end = ends[text == "overdrawn" ? 0 : text == "a mistake" ? 2 : 1];
    BOOST_CHECK_EXCEPTION(end.value(), std::runtime_error, [&](std::runtime_error const& e) {
      return std::string_view(e.what()).find(text) != std::string_view::npos;
    });
    BOOST_TEST(!end.failure().exception);
  }
}

}  // namespace
