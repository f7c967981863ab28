// SPDX-License-Identifier: Apache-2.0
// test: plain comma (one thread)
#include <tutti/detail/tuning/preference.hpp>
#include <tutti/detail/tuning/profile_text.hpp>
#include <tutti/detail/tuning/profiled_network.hpp>
#include <tutti/extend/network_profile.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

tutti::network_profile example_profile() {
  return {.ranks = 4,
          .hosts = 2,
          .start = 120'000,
          .within_host = {300'000,
                          {{4, 10, 10, 0, 12, 3, 1, 5},
                           {1024, 500, 100, 0, 600, 70, 2},
                           {1 << 20, 90'000, 100, 5, 80'000, 0, 9, 70'000, 60'000}},
                          7,
                          {{4, 9, 8, 30, 11}, {1 << 16, 50, 40, 0, 2000}}},
          .allocator = {300'000, {{4, 10, 10, 0, 12, 3, 1, 5}}, 0, {{4, 9, 8, 30, 11}, {1 << 16, 40, 4, 0, 1000}}},
          .between_hosts = {9'000'000, {{4, 10, 10, 2, 10, 0, 0}}},
          .aggregator = {2'000'000, {{.bytes = 4, .wire = 3}}}};
}

bool is_refused(std::string const& text) {
  try {
    (void)tutti::detail::read_profile(text);
    return false;
  } catch (tutti::detail::profile_error const&) {
    return true;
  }
}

std::string replace_text(std::string text, std::string const& pattern, std::string const& replacement) {
  return text.replace(text.find(pattern), pattern.size(), replacement);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  for (auto p : {example_profile(), tutti::network_profile{}}) {
    BOOST_TEST((tutti::detail::read_profile(tutti::detail::to_text(p)) == p));
  }
}

BOOST_AUTO_TEST_CASE(what_is_cut_off_anywhere_is_refused) {
  auto const text = tutti::detail::to_text(example_profile());
  for (std::size_t length = 0; length < text.size(); ++length) {
    BOOST_TEST(is_refused(text.substr(0, length)), "the first " << length << " characters are taken for a profile");
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_profile_is_refused) {
  auto const text = tutti::detail::to_text(example_profile());
  BOOST_TEST(is_refused("\177ELF\n"));
  BOOST_TEST(is_refused(replace_text(text, "tutti-profile 7", "tutti-profile 6")));
  BOOST_TEST(is_refused(replace_text(text, "ranks 4", "ranks four")));
  BOOST_TEST(is_refused(replace_text(text, "ranks 4", "ranks -4")));
  BOOST_TEST(is_refused(replace_text(text, "ranks 4", "ranks 16777216")));
  BOOST_TEST(is_refused(replace_text(text, "ranks 4", "ranks 4 4")));
  BOOST_TEST(is_refused(replace_text(text, "near 300000 7 3 2", "near 300000 7 99999999 2")));
  BOOST_TEST(is_refused(replace_text(text, "near 300000 7 3 2", "near 300000 7 4 2")));
  BOOST_TEST(is_refused(replace_text(text, "near 300000 7 3 2", "near 300000 7 3 99999999")));
  BOOST_TEST(is_refused(replace_text(text, "near 300000 7 3 2", "near 300000 7 3 1")));
  BOOST_TEST(is_refused(replace_text(text, "near 300000", "near 9999999999999999999999")));
  BOOST_TEST(is_refused(replace_text(text, "\n1024 500 ", "\n4 500 ")));       // sizes must grow
  BOOST_TEST(is_refused(replace_text(text, "1024 500 100", "1024 500 501")));  // leaves after the send has ended
  BOOST_TEST(is_refused(replace_text(text, "\n65536 50 40", "\n65536 50 51")));
  BOOST_TEST(is_refused(replace_text(text, "\n65536 50 ", "\n4 50 ")));
}

BOOST_AUTO_TEST_CASE(errors_name_the_line) {
  try {
    (void)tutti::detail::read_profile(replace_text(tutti::detail::to_text(example_profile()), "hosts 2", "hosts"));
    BOOST_ERROR("taken");
  } catch (tutti::detail::profile_error const& e) {
    BOOST_TEST(std::string(e.what()).starts_with("profile: line 3 must "));
  }
}

BOOST_AUTO_TEST_CASE(times_lie_on_straight_lines_between_the_sizes) {
  auto const link = example_profile().within_host;
  auto const send = [&](std::size_t bytes) { return tutti::detail::at_size(link, bytes).send; };
  BOOST_TEST(send(0) == 10);
  BOOST_TEST(send(4) == 10);
  BOOST_TEST(send(514) == 255);
  BOOST_TEST(send(1024) == 500);
  BOOST_TEST(send(1 << 20) == 90'000);
  BOOST_TEST(send(2 << 20) == 179'587);                            // extrapolated from the last two sizes
  BOOST_TEST(tutti::detail::at_size(link, 1 << 30).combine == 0);  // decreasing extrapolation stops at 0
  BOOST_TEST(send(std::size_t{1} << 40) / (90'000) > 1'000'000);   // far away, without overflow
  BOOST_TEST(tutti::detail::at_size({}, 7).send == 0);
}

// Times of operations that only move data lie on straight lines, too; beyond the last size they are proportional.
BOOST_AUTO_TEST_CASE(operations_that_only_move_have_times_of_their_own) {
  auto const p = example_profile();
  auto const receive = [&](std::size_t bytes) { return tutti::detail::move_at_size(p.within_host, bytes).receive; };
  BOOST_TEST(receive(0) == 11);
  BOOST_TEST(receive((4 + 65536) / 2) == (11 + 2000) / 2);
  BOOST_TEST(receive(65536) == 2000);
  BOOST_TEST(receive(10 * 65536) == 20'000);
  BOOST_TEST(receive(std::size_t{1} << 40) == 2000LL << 24);
  BOOST_TEST(tutti::detail::move_at_size({.moves = {{8, 4, 4, 4, 4}}}, 16).receive == 8);

  tutti::host_map const hosts(std::string("aabb"));
  auto const takes = [&](tutti::operation_kind kind, tutti::rank_type receiver) {
    return tutti::detail::profiled_network(p, hosts, kind, tutti::memory_kind::ordinary)
        .message(0, receiver, 65536, tutti::loan::none, false);
  };
  for (auto const kind : {tutti::operation_kind::broadcast, tutti::operation_kind::alltoall}) {
    BOOST_TEST((takes(kind, 1) == tutti::detail::message_time{50, 40, 300'000, 0, 2000, 0}));
    BOOST_TEST((takes(kind, 2) == takes(tutti::operation_kind::allreduce, 2)));  // not measured between hosts
  }
  for (auto const kind : {tutti::operation_kind::allreduce, tutti::operation_kind::reduce}) {
    BOOST_TEST(takes(kind, 1).receive == tutti::detail::at_size(p.within_host, 65536).receive);
  }
}

// Vectors in memory provided by the transport have their own times within a host, if these were measured.
BOOST_AUTO_TEST_CASE(provided_memory_has_times_of_its_own) {
  using tutti::memory_kind;
  auto p = example_profile();
  tutti::host_map const hosts(std::string("aabb"));
  auto const takes = [&](memory_kind memory, tutti::operation_kind kind, tutti::rank_type receiver) {
    return tutti::detail::profiled_network(p, hosts, kind, memory)
        .message(0, receiver, 65536, tutti::loan::none, false);
  };
  BOOST_TEST(p.tells_apart());
  BOOST_TEST(takes(memory_kind::allocator, tutti::operation_kind::broadcast, 1).receive == 1000);
  BOOST_TEST(takes(memory_kind::ordinary, tutti::operation_kind::broadcast, 1).receive == 2000);
  BOOST_TEST(takes(memory_kind::allocator, tutti::operation_kind::allreduce, 1).receive == 12);
  p.allocator = {};
  BOOST_TEST(!p.tells_apart());
  for (auto const kind : {tutti::operation_kind::broadcast, tutti::operation_kind::allreduce}) {
    for (tutti::rank_type const receiver : {1U, 2U}) {
      BOOST_TEST((takes(memory_kind::allocator, kind, receiver) == takes(memory_kind::ordinary, kind, receiver)));
    }
  }
}

BOOST_AUTO_TEST_CASE(preferences_are_read) {
  tutti::host_map const hosts(std::string("aabb"));
  using enum tutti::operation_kind;
  auto const preferences = tutti::detail::read_preferences(
      "allreduce:-4K=doubling; broadcast:1M-=chain/64K;reduce=star ;allreduce:8-16=hierarchical<binary_tree, ring>;",
      hosts);
  BOOST_TEST((preferences == std::vector<tutti::detail::preference>{
                                 {allreduce, 0, 4096, tutti::schedule_kind::doubling, 0},
                                 {broadcast, 1 << 20, SIZE_MAX, tutti::schedule_kind::chain, 64 << 10},
                                 {reduce, 0, SIZE_MAX, tutti::schedule_kind::star, 0},
                                 {allreduce, 8, 16, tutti::schedule_kind::hosts_ring, 0}}));
  for (auto const* const wrong :
       {"ring", "allreduce", "allreduce=", "barrier=ring", "allreduce=wheel", "allreduce:4-2=ring", "allreduce:1X=ring",
        "allreduce:1-2-3=ring", "allreduce=ring/", "allreduce=ring/much", "allreduce:99999999999999999999=ring"}) {
    BOOST_CHECK_THROW((void)tutti::detail::read_preferences(wrong, hosts), tutti::detail::preference_error);
  }
}
