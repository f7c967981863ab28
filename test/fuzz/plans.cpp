// SPDX-License-Identifier: Apache-2.0
//
// The profile of a world, the user's preferences, and the schedules that are picked at run time. The first byte picks
// a reader.
#include "fuzz.hpp"
#include <tutti/detail/tuning/preference.hpp>
#include <tutti/detail/tuning/profile_text.hpp>
#include <tutti/detail/tuning/tuner.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/topology/verify.hpp>

#include <string>
#include <string_view>

namespace {

using namespace tutti::detail;
using tutti::rank_type;
using tutti::selection;
namespace op = tutti::op;

/// Some ranks, each on one of four hosts.
tutti::host_map draw_hosts(fuzz::input& words) {
  std::string labels;
  for (std::size_t ranks = 1 + words.choice(9); ranks != 0; --ranks) {
    labels += static_cast<char>(words.choice(4));
  }
  return tutti::host_map(labels);
}

/// The prices of a profile, and what follows from them.
void read_profile(fuzz::input words) {
  tutti::host_map const hosts = draw_hosts(words);
  std::size_t const bytes = static_cast<std::size_t>(words.number(7));
  tutti::schedule_requirements const needs{.in_rank_order = words.choice(2) == 1,
                                           .may_aggregate = words.choice(2) == 1,
                                           .share_class = static_cast<std::uint32_t>(words.choice(5))};
  try {
    tutti::network_profile profile = tuning::read_profile(words.rest());
    fuzz::expect(tuning::read_profile(to_text(profile)) == profile,
                 "a profile that is written is read as that profile");
    profile.ranks = hosts.ranks();  // `automatic` refuses a profile of another world
    profile.hosts = hosts.hosts();
    for (auto const* const link : {&profile.within_host, &profile.allocator, &profile.between_hosts}) {
      auto const price = at_size(*link, bytes);
      fuzz::expect(price.send >= price.lead && price.lead >= 0, "a message leaves while it is sent");
    }
    tuner const prices(profile, hosts, tutti::memory_kind::ordinary);
    auto const ways = prices.predict(op::allreduce{}, std::size_t{1} << bytes % 51, needs);
    fuzz::expect(!ways.empty() && ways.front().time >= 0, "no operation ends before it begins");
  } catch (profile_error const&) {
  }
}

void read_wishes(fuzz::input words) {
  tutti::host_map const hosts = draw_hosts(words);
  try {
    for (preference const& wish : read_preferences(words.rest(), hosts)) {
      auto const again = read_preferences(to_text(wish, hosts), hosts);
      fuzz::expect(again.size() == 1 && again[0] == wish, "a preference that is written is read as that preference");
    }
  } catch (preference_error const&) {
  }
}

template <class Op>
void plan_all(selection const& schedule, Op const& o, rank_type n) {
  fuzz::expect(static_cast<bool>(tutti::verify(schedule, o, n)), "each schedule that can be picked is right");
  for (rank_type me = 0; me != n; ++me) {
    tutti::plan<false> const owner(schedule, o, n, me);
    tutti::planned_schedule<false> const view = owner.view();
    auto const expected = ranks_alone<Op>(schedule);
    fuzz::expect(view.steps(o, n, me) == expected.steps(o, n, me), "a plan has all steps");
    for (std::uint32_t i = 0; i != view.steps(o, n, me); ++i) {
      fuzz::expect(view.at(o, n, me, i) == expected.at(o, n, me, i), "a plan has the steps of its topology");
    }
    try {
      static_cast<void>(view.steps(o, n, me + 1));
      fuzz::expect(false, "a plan is used for its rank only");
    } catch (tutti::precondition_error const&) {
    }
  }
}

void make_plans(fuzz::input words) {
  tutti::host_map const hosts = draw_hosts(words);
  rank_type const n = hosts.ranks();
  selection const schedule(tutti::all_schedule_kinds[words.choice(tutti::all_schedule_kinds.size())], &hosts);
  auto const root = static_cast<rank_type>(words.choice(n));
  if (words.choice(2) == 0) {
    return plan_all(schedule, op::allreduce{}, n);
  }
  plan_all(schedule, op::broadcast{root}, n);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 22) + 256 * size);
  fuzz::input words(data, size);
  switch (words.choice(3)) {
    case 0:
      read_profile(words);
      break;
    case 1:
      read_wishes(words);
      break;
    default:
      make_plans(words);
  }
  return 0;
}
