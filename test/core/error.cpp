// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/base/bounded_text.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/expects.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace {

using tutti::failure;
using tutti::fault;

BOOST_AUTO_TEST_CASE(a_fault_fits_one_word) {
  for (std::uint64_t k = 0; k < tutti::failure_kinds; ++k) {
    for (tutti::rank_type culprit : {0U, 1U, 255U, 256U, 65535U, 65536U, 0xfffffeU, tutti::no_rank}) {
      for (tutti::rank_type reporter : {0U, 1U, 255U, 256U, 65535U, 65536U, 0xfffffeU, tutti::no_rank}) {
        for (int const code : {0, 1, 113, 127}) {
          for (bool const elsewhere : {false, true}) {
            fault const f{static_cast<failure>(k), culprit, reporter, 0, code, elsewhere};
            BOOST_TEST((fault::unpack(f.pack()) == f));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_each_other_fit_into_one_word) {
  for (tutti::rank_type const last : {1U, 7U, 47U}) {
    fault f{failure::deadline, tutti::no_rank, tutti::no_rank, fault::bit_of(0) | fault::bit_of(last)};
    BOOST_TEST((fault::unpack(f.pack()) == f));
    f.elsewhere = true;
    BOOST_TEST((fault::unpack(f.pack()) == f));
  }
  BOOST_TEST(fault::bit_of(48) == 0U);
  BOOST_TEST(fault::bit_of(tutti::no_rank) == 0U);
}

BOOST_AUTO_TEST_CASE(a_code_without_room_is_left_out) {
  for (int const code : {-1, 128, 133, 512}) {
    BOOST_TEST((fault::unpack(fault{failure::unreachable, 3, 4, 0, code}.pack()) == fault{failure::unreachable, 3, 4}));
  }
}

BOOST_AUTO_TEST_CASE(an_abort_is_a_word_and_a_text) {
  for (tutti::rank_type const culprit : {0U, 0xfffffeU, tutti::no_rank}) {
    fault const f = fault::abort(culprit, 7, "SIGTERM");
    BOOST_TEST((f.kind == failure::aborted && f.culprit == culprit && f.reporter == 7U));
    BOOST_TEST((fault::unpack(f.pack(), f.reason) == f));
    BOOST_TEST((fault::unpack(f.pack()) == fault::abort(culprit, 7, "")));
  }
  BOOST_TEST((fault::unpack(fault{failure::deadline, 1, 2}.pack(), "none") == fault{failure::deadline, 1, 2}));
}

BOOST_AUTO_TEST_CASE(the_reason_of_an_abort_is_cut_before_a_character) {
  constexpr std::size_t room = fault::reason_text - 1;
  auto const reason = [](std::string const& text) { return std::string(fault::abort(0, 0, text).reason); };
  BOOST_TEST(reason(std::string(room, 'x')) == std::string(room, 'x'));
  BOOST_TEST(reason(std::string(room + 1, 'x')) == std::string(room, 'x'));
  BOOST_TEST(reason(std::string(room - 1, 'x') + "\u00e9") == std::string(room - 1, 'x'));
  BOOST_TEST(reason(std::string(room - 2, 'x') + "\u00e9y") == std::string(room - 2, 'x') + "\u00e9");
  BOOST_TEST(reason("a\nb\x1f") == "a b ");
  BOOST_TEST(reason(std::string(3 * room, '\x80')) == "");
}

BOOST_AUTO_TEST_CASE(a_zero_word_is_no_fault) {
  BOOST_TEST(!fault{});
  BOOST_TEST(!fault::unpack(0));
  BOOST_TEST(static_cast<bool>(fault{failure::peer_lost, 0, 0}));
  BOOST_TEST((fault{failure::peer_lost, 0, 0}.pack() != 0U));
}

BOOST_AUTO_TEST_CASE(an_error_carries_what_failed) {
  tutti::error const e({failure::deadline, "world/3:1", "allreduce(sum float32 x 8, ring)", 17, 3, 2, {0, 1}},
                       "no answer");
  BOOST_TEST(std::string_view(e.what()) == "no answer");
  BOOST_TEST((e.kind() == failure::deadline));
  BOOST_TEST(e.communicator() == "world/3:1");
  BOOST_TEST(e.operation() == "allreduce(sum float32 x 8, ring)");
  BOOST_TEST(e.sequence() == 17U);
  BOOST_TEST(e.step() == 3U);
  BOOST_TEST(e.self() == 2U);
  BOOST_TEST((e.at_fault() == std::vector<tutti::rank_type>{0, 1}));
}

BOOST_AUTO_TEST_CASE(every_failure_has_a_name) {
  std::set<std::string_view> names;
  for (std::uint64_t k = 0; k < tutti::failure_kinds; ++k) {
    names.insert(tutti::name(static_cast<failure>(k)));
  }
  BOOST_TEST(names.size() == tutti::failure_kinds);
}

// A broken precondition is no failure of the world.
static_assert(!std::is_base_of_v<tutti::error, tutti::precondition_error>);

BOOST_AUTO_TEST_CASE(a_broken_precondition_says_what_and_where) {
  BOOST_CHECK_NO_THROW(tutti::expects(true, "fine"));
  auto const line = __LINE__ + 2;
  try {
    tutti::expects(false, "give a root below size()");
    BOOST_TEST(false, "expects did not throw");
  } catch (tutti::precondition_error const& e) {
    BOOST_TEST(std::string_view(e.what()) == "give a root below size()");
    BOOST_TEST(e.location().line() == static_cast<unsigned>(line));
    BOOST_TEST(std::string_view(e.location().file_name()).ends_with("error.cpp"));
  }
}

BOOST_AUTO_TEST_CASE(a_broken_precondition_says_the_values) {
  auto const line = __LINE__ + 2;
  try {
    tutti::expects(false, "momentum ", 1.25, " of ", std::string("rank "), 3U, ", least ", INT64_MIN, ", most ",
                   UINT64_MAX);
    BOOST_TEST(false, "expects did not throw");
  } catch (tutti::precondition_error const& e) {
    BOOST_TEST(std::string_view(e.what()) ==
               "momentum 1.25 of rank 3, least -9223372036854775808, most 18446744073709551615");
    BOOST_TEST(e.location().line() == static_cast<unsigned>(line));
  }
}

}  // namespace
