// SPDX-License-Identifier: Apache-2.0
// test: thread
#include <support/wrong_profile.hpp>
#include <tutti/automatic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

// All ranks agree on the fastest schedule, even with a wrong profile.

using namespace tutti;
using namespace tutti::detail;

BOOST_AUTO_TEST_CASE(all_ranks_find_the_same_and_keep_it_for_such_sizes) {
  for (rank_type const n : {1U, 2U, 3U}) {
    auto const results = spawn<loopback>(n, [](auto& world) -> std::string {
      automatic const best(world, support::wrong_profile(world));
      std::vector<float> v(3000);
      std::string const preference =
          best.autotune(world, op::allreduce{}, v, {.ways = 3, .turn = std::chrono::microseconds(20)});
      best.autotune(world, op::broadcast{0}, v, {.ways = 2, .turns = 1});
      allreduce sum_of{world, best, sum<float>{}};
      std::fill(v.begin(), v.end(), 1.F);
      sum_of(v);
      if (v.front() != static_cast<float>(world.size()) || v.back() != v.front()) {
        return "the sum is wrong";
      }
      if (!preference.starts_with("allreduce:8193-16384=")) {
        return preference;
      }
      automatic const follower(world, support::wrong_profile(world));
      follower.prefer(preference);
      for (std::size_t const bytes : {8193U, 12000U, 16384U}) {
        auto const a = best.choose(op::allreduce{}, bytes);
        auto const b = follower.choose(op::allreduce{}, bytes);
        if (a.topology.kind() != b.topology.kind() || a.segment_bytes != b.segment_bytes) {
          return "what was found is not what is said";
        }
      }
      if (sum_of.explain(8192).find("tried") != std::string::npos) {
        return "the result of autotune is taken for other sizes, too";
      }
      return preference + sum_of.explain(16384);
    });
    for (auto const& r : results) {
      BOOST_TEST(r.value() == results.front().value());
      BOOST_TEST(r.value().find("3 that were tried, it was the fastest") != std::string::npos, r.value());
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_autotune_for_different_lengths_are_told_so) {
  for (auto const& r : spawn<loopback>(2, [](auto& world) {
         automatic const best(world, support::wrong_profile(world));
         std::vector<float> v(100 + world.rank());
         best.autotune(world, op::allreduce{}, v);
       })) {
    BOOST_TEST(!r.has_value());
    BOOST_TEST((r.failure().kind == failure::mismatch));
  }
}

BOOST_AUTO_TEST_CASE(autotune_without_candidates_is_refused) {
  for (auto const& r : spawn<loopback>(1, [](auto& world) -> std::string {
         try {
           std::vector<float> v(1);
           automatic(world, support::wrong_profile(world)).autotune(world, op::allreduce{}, v, {.ways = 0});
           return "";
         } catch (precondition_error const& e) {
           return e.what();
         }
       })) {
    BOOST_TEST(r.value().find("must be 1 or more, not 0 and ") != std::string::npos);
  }
}
