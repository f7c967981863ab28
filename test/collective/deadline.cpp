// SPDX-License-Identifier: Apache-2.0
// test: address (what is refused, and virtual time)
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/simulation/simulate.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <array>

namespace {

using namespace std::chrono_literals;

/// Whether `call` is refused, with the name of what it should have been.
template <class Call>
bool is_refused(Call call) {
  try {
    call();
  } catch (tutti::precondition_error const& e) {
    return std::string_view(e.what()).find("tutti::no_deadline") != std::string_view::npos;
  }
  return false;
}

BOOST_AUTO_TEST_CASE(a_negative_deadline_is_refused_wherever_one_is_given) {
  support::agree<tutti::loopback>(1, [](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    tutti::when_any any{world};
    std::vector<int> v(3);
    std::array<tutti::request, 1> pending{sum.start(v)};
    for (tutti::duration const bad : {tutti::duration(-1), tutti::duration(-1h), tutti::duration::min()}) {
      if (!is_refused([&] { world.deadline(bad); }) || !is_refused([&] { sum.deadline(bad); }) ||
          !is_refused([&] { (void)any(pending, 0, bad); })) {
        return std::to_string(bad.count()) + " ns were taken";
      }
    }
    pending[0].wait();
    return world.deadline() == 40s && sum.deadline() == 40s ? "" : "another deadline than before";
  });
  tutti::world_options<tutti::loopback> options;
  options.deadline = -1s;
  auto const ends = tutti::spawn<tutti::loopback>(
      3, [](auto&) {}, options);
  for (auto const& end : ends) {
    BOOST_TEST((end.failure().text.find("tutti::no_deadline") != std::string::npos), end.failure().text);
  }
}

/// One rank comes after ten minutes of virtual time.
auto wait_for_minutes(tutti::duration deadline) {
  return tutti::simulate(tutti::one_switch(2, {.latency = 1us}), 2, [=](auto& world) {
    world.deadline(deadline);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(10, 1);
    if (world.rank() == 1) {
      world.transport().spend(10min);
    }
    auto pending = sum.start(v);
    pending.wait();
    sum(v);
    return v.back();
  });
}

BOOST_AUTO_TEST_CASE(without_a_deadline_a_rank_is_waited_for_as_long_as_it_takes) {
  for (auto const& end : wait_for_minutes(tutti::no_deadline).results) {
    BOOST_TEST((end && end.value() == 4), end.failure().text);
  }
  for (auto const& end : wait_for_minutes(9min).results) {
    BOOST_TEST((end.failure().kind == tutti::failure::deadline), end.failure().text);
  }
}

}  // namespace
