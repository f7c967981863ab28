// SPDX-License-Identifier: Apache-2.0
// test: address (what is refused)
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <array>

namespace {

using namespace std::chrono_literals;

/// True if `call` is refused with a text that names tutti::no_deadline.
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
    tutti::when_any wait_any{world};
    std::vector<int> v(3);
    std::array<tutti::request, 1> pending{sum.start(v)};
    for (tutti::duration const bad : {tutti::duration(-1), tutti::duration(-1h), tutti::duration::min()}) {
      if (!is_refused([&] { world.deadline(bad); }) || !is_refused([&] { sum.deadline(bad); }) ||
          !is_refused([&] { (void)wait_any(pending, 0, bad); })) {
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

}  // namespace
