// SPDX-License-Identifier: Apache-2.0
// test: thread
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <laws/world_sizes.hpp>
#include <support/worlds.hpp>
#include <tutti/automatic.hpp>
#include <tutti/detail/tuning/known_profiles.hpp>
#include <tutti/detail/tuning/stopwatch.hpp>
#include <tutti/detail/tuning/world_meter.hpp>
#include <tutti/split.hpp>
#include <tutti/transport/loopback.hpp>

#include <cstdio>
#include <string>
#include <unistd.h>

namespace {

/// A profile in which every schedule is the fastest somewhere; it takes no messages to get.
template <class World>
tutti::network_profile made_up(World& world) {
  tutti::network_profile p{.ranks = world.size(), .hosts = world.hosts().hosts(), .start = 50'000};
  p.within_host = {1'000'000,
                   {{4, 100'000, 100'000, 0, 100'000, 0, 0}, {1024, 400'000, 200'000, 0, 400'000, 9'000, 5'000}}};
  p.allocator = {1'000, {{4, 100'000, 100'000, 0, 100'000, 0, 0}}};  // equal for all sizes
  return p;
}

tutti::automatic_options briefly() {
  return {.budget = std::chrono::milliseconds(1)};
}

/// Runs an operation by each predicted schedule without segments.
template <class Op, class World, class F>
std::string each_way(World& world, tutti::automatic const& best, bool in_order, F f) {
  std::string complaint;
  for (auto const& p : best.predict(Op{}, 1 << 20, {.in_rank_order = in_order})) {
    if (complaint.empty() && p.way.segment_bytes == 0) {
      tutti::automatic follower(world, best.profile());
      follower.prefer(std::string(tutti::name(tutti::detail::verify::kind_of<Op>)) + "=" +
                      std::string(p.way.topology.topology_name()));
      complaint = f(follower);
    }
  }
  return complaint;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_equal_the_sequential_answer) {
  for (auto const n : laws::world_sizes) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      return laws::reducing(world, tutti::automatic(world, briefly()), tutti::sum<float>{}, 1023);
    });
  }
}

BOOST_AUTO_TEST_CASE(every_schedule_that_may_be_picked_is_right) {
  for (auto const n : {2U, 3U, 8U, 11U}) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      tutti::automatic const best(world, made_up(world));
      return each_way<tutti::op::allreduce>(world, best, false, [&](tutti::automatic const& follower) {
        return laws::reducing(world, follower, tutti::sum<float>{}, 64);
      });
    });
  }
}

BOOST_AUTO_TEST_CASE(order_is_kept) {
  for (auto const n : {1U, 2U, 5U, 8U}) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      tutti::automatic const best(world, made_up(world));
      best.prefer("allreduce=ring; reduce=double_tree");  // do not keep rank order, so the preference is ignored
      return laws::reducing(world, best, laws::composition{}, 1023);
    });
  }
}

BOOST_AUTO_TEST_CASE(everything_is_moved) {
  for (auto const n : {1U, 2U, 3U, 7U}) {
    support::agree<tutti::loopback>(
        n, [](auto& world) { return laws::moving<float>(world, tutti::automatic(world, made_up(world)), 1023); });
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_priced_below_what_is_picked) {
  for (auto const n : {1U, 2U, 3U, 6U, 16U}) {
    support::agree<tutti::loopback>(n, [](auto& world) -> std::string {
      tutti::automatic const best(world, made_up(world));
      if (world.rank() != 0) {  // the other ranks would compute the same
        return {};
      }
      for (std::size_t bytes = 1; bytes <= std::size_t{1} << 24; bytes *= 4) {
        auto const pick = best.choose(tutti::op::allreduce{}, bytes);
        auto const predictions = best.predict(tutti::op::allreduce{}, bytes);
        for (auto const& p : predictions) {
          if (p.time < predictions.front().time) {
            return "not sorted";
          }
        }
        if (pick.topology.kind() != predictions.front().way.topology.kind() ||
            pick.segment_bytes != predictions.front().way.segment_bytes) {
          return "picks another than the first for " + std::to_string(bytes);
        }
      }
      return {};
    });
  }
}

BOOST_AUTO_TEST_CASE(all_ranks_have_the_same_profile_and_a_saved_one_is_taken) {
  std::string const file = "/tmp/tutti-automatic-" + std::to_string(::getpid());
  auto const results = tutti::spawn<tutti::loopback>(3, [&](auto& world) {
    tutti::automatic_options options = briefly();
    options.file = file;
    auto const first = tutti::automatic(world, options).profile();
    auto const second = tutti::automatic(world, options).profile();
    bool const knows_moves = !first.within_host.moves.empty() && first.within_host.moves.back().bytes >= 64 << 10;
    return tutti::detail::to_text(first) + (!knows_moves ? "no moves" : first == second ? "" : "not taken");
  });
  std::remove(file.c_str());
  for (auto const& r : results) {
    BOOST_TEST(r.value() == results.front().value());
    BOOST_TEST(r.value().ends_with("end\n"));
  }
}

// A repeated measurement would show: no two agree to the picosecond.
BOOST_AUTO_TEST_CASE(a_world_and_its_parts_are_measured_once) {
  struct profiles {
    std::string pair, crossing, trouble;
  };
  auto const ends = tutti::spawn<tutti::loopback>(6, [](auto& world) {
    auto const profile = [](auto& group, tutti::automatic_options const& options) {
      return tutti::detail::to_text(tutti::automatic(group, options).profile());
    };
    profiles result;
    std::string const whole = profile(world, briefly());
    auto halves = tutti::split(world, world.rank() / 3);
    std::string const half = profile(halves, briefly());
    {
      auto pairs = tutti::split(halves, world.rank() % 3 == 2 ? 1 : 0);  // two ranks of each half, then one
      result.pair = profile(pairs, briefly());
    }
    // Other communicators over the same ranks, some with a parent that is gone.
    auto again = tutti::split(world, 0, -static_cast<std::int64_t>(world.rank()));
    auto three = tutti::split(again, world.rank() % 2);
    result.trouble = profile(again, briefly()) != whole   ? "the world was measured twice"
                     : profile(halves, briefly()) != half ? "a part was measured twice"
                     : profile(three, briefly()) == whole ? "three are taken for six"
                     : profile(halves, {.budget = std::chrono::milliseconds(2)}) == half ? "less was thought enough"
                                                                                         : "";
    // Ranks 2 and 3 are alone in their halves, the others know a pair: in each part, the lowest rank with a profile
    // supplies it.
    auto crossing = tutti::split(world, (world.rank() + 1) % 6 / 2);  // ranks 5 and 0, 1 and 2, 3 and 4
    result.crossing = profile(crossing, briefly());
    auto remeasuring = briefly();
    remeasuring.remeasure = true;
    result.trouble += profile(crossing, remeasuring) == result.crossing ? "not measured again" : "";
    return result;
  });
  auto const result_of = [&](std::size_t r) { return ends[r].value(); };
  for (std::size_t r = 0; r < 6; ++r) {
    BOOST_TEST(result_of(r).trouble == "");
  }
  BOOST_TEST((result_of(0).pair == result_of(1).pair && result_of(3).pair == result_of(4).pair &&
              result_of(0).pair != result_of(3).pair));
  BOOST_TEST((result_of(0).crossing == result_of(0).pair && result_of(5).crossing == result_of(0).pair));
  BOOST_TEST((result_of(1).crossing == result_of(1).pair && result_of(2).crossing == result_of(1).pair));
  BOOST_TEST((result_of(3).crossing == result_of(3).pair && result_of(4).crossing == result_of(3).pair));
}

BOOST_AUTO_TEST_CASE(foreign_and_different_profiles_are_refused_by_every_rank) {
  auto const expect_refusal = [](auto make) {
    for (auto const& r : tutti::spawn<tutti::loopback>(3, [&](auto& world) -> std::string {
           try {
             (void)tutti::automatic(world, make(world));
             return "taken";
           } catch (tutti::detail::profile_error const&) {
             return "refused";
           }
         })) {
      BOOST_TEST(r.value() == "refused");
    }
  };
  expect_refusal([](auto& world) {
    auto p = made_up(world);
    p.ranks = 4;
    return p;
  });
  expect_refusal([](auto& world) {
    auto p = made_up(world);
    p.start += world.rank() == 1 ? 1 : 0;
    return p;
  });
}

BOOST_AUTO_TEST_CASE(ranks_that_prefer_different_schedules_are_told_so) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    tutti::automatic const best(world, made_up(world));
    best.prefer(world.rank() == 0 ? "allreduce=ring" : "allreduce=doubling");
    tutti::allreduce sum{world, best, tutti::sum<float>{}};
    std::vector<float> v(100, 1.F);
    sum(v);
  });
  for (auto const& r : results) {
    BOOST_TEST(!r.has_value());
    BOOST_TEST((r.failure().kind == tutti::failure::mismatch));
  }
  BOOST_TEST((results[0].failure().text + results[1].failure().text).find("doubling") != std::string::npos);
  BOOST_TEST((results[0].failure().text + results[1].failure().text).find("ring") != std::string::npos);
}

// Each kind of memory has its own prices, and its own preferences from its creation by `for_memory` on.
BOOST_AUTO_TEST_CASE(vectors_in_memory_of_the_transport_are_priced_apart) {
  using enum tutti::memory_kind;
  for (auto const& r : tutti::spawn<tutti::loopback>(4, [](auto& world) -> std::string {
         tutti::automatic const best(world, made_up(world));
         best.prefer("broadcast=star");
         tutti::automatic const allocator_choice = best.for_memory(allocator);
         allocator_choice.prefer("allreduce:-4=chain");
         tutti::automatic const again = allocator_choice.for_memory(ordinary);
         auto const least = [](tutti::automatic const& a) {
           return a.predict(tutti::op::allreduce{}, 1 << 20).front().time;
         };
         if (least(allocator_choice) >= least(best) || least(again) != least(best)) {
           return "the kinds are not priced apart";
         }
         auto const picks = [](tutti::automatic const& a, auto op, tutti::schedule_kind kind) {
           return a.choose(op, 4).topology.kind() == kind;
         };
         if (!picks(allocator_choice, tutti::op::broadcast{}, tutti::schedule_kind::star) ||
             !picks(again, tutti::op::allreduce{}, tutti::schedule_kind::chain)) {
           return "what was preferred is forgotten";
         }
         if (picks(best, tutti::op::allreduce{}, tutti::schedule_kind::chain)) {
           return "what is preferred for one kind is for the other, too";
         }
         return allocator_choice.explain(tutti::op::allreduce{}, 4) + best.explain(tutti::op::allreduce{}, 4);
       })) {
    BOOST_TEST(r.value().find("for vectors by tutti::allocator\n") != std::string::npos, r.value());
    BOOST_TEST(r.value().find("for vectors in ordinary memory") != std::string::npos, r.value());
  }
}

// A difference between ranks is an error only for sizes at which it changes the choice.
BOOST_AUTO_TEST_CASE(ranks_that_say_different_kinds_of_memory_are_told_so) {
  for (auto const& r : tutti::spawn<tutti::loopback>(2, [](auto& world) -> std::string {
         auto const memory = world.rank() == 0 ? tutti::memory_kind::allocator : tutti::memory_kind::ordinary;
         tutti::automatic const best = tutti::automatic(world, made_up(world)).for_memory(memory);
         tutti::allreduce sum{world, best, tutti::sum<float>{}};
         std::vector<float> v(1, 1.F);
         sum(v);
         std::vector<float> w(1 << 20);
         try {
           sum(w);
         } catch (tutti::error const& e) {
           return v[0] == 2.F && e.kind() == tutti::failure::mismatch ? "told" : e.what();
         }
         return "taken";
       })) {
    BOOST_TEST(r.value() == "told");
  }
}

BOOST_AUTO_TEST_CASE(choices_are_explained) {
  auto const results = tutti::spawn<tutti::loopback>(4, [](auto& world) {
    tutti::automatic const best(world, made_up(world));
    best.prefer("allreduce:1M-=chain/64K");
    tutti::allreduce sum{world, best, tutti::sum<float>{}};
    tutti::allgather collect{world, best};
    tutti::partition const equal{250'000, 250'000, 250'000, 250'000};
    tutti::partition const uneven{20'000, 900'000, 0, 80'000};
    auto const choice = best.choose(tutti::op::allgather{}, 4'000'000, {.share_class = uneven.share_class()});
    std::string const segments =
        choice.segment_bytes == 0 ? "" : " in segments of " + std::to_string(choice.segment_bytes >> 10) + " KiB";
    std::string const text = collect.explain(uneven, sizeof(float));
    bool const is_right =
        text.starts_with("allgather of 4000000 bytes over 4 ranks, one with more than 1/2 of the elements: " +
                         std::string(choice.topology.topology_name()) + segments + ", ") &&
        collect.explain(equal, sizeof(float)) == collect.explain(4'000'000);
    static_assert(!requires { sum.explain(uneven, sizeof(float)); });  // an allreduce has no blocks
    return sum.explain(4) + "|" + sum.explain(1 << 20) + "|" + (is_right ? "" : text);
  });
  for (auto const& r : results) {
    BOOST_TEST(r.value() == results.front().value());
    BOOST_TEST(r.value().starts_with("allreduce of 4 bytes over 4 ranks: "));
    BOOST_TEST(r.value().find("bound by the latency of messages") != std::string::npos);
    BOOST_TEST(r.value().find("|allreduce of 1 MiB over 4 ranks: chain in segments of 64 KiB") != std::string::npos);
    BOOST_TEST(r.value().find("told to") != std::string::npos);
    BOOST_TEST(r.value().ends_with('|'), r.value());
  }
}
