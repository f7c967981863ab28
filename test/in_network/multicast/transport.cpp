// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/transport/loopback.hpp>

#include <type_traits>
#include <vector>

// Messages between ranks beside a group, on a network that loses, repeats and reorders packets.

namespace {

using namespace std::chrono_literals;
using network = tutti::detail::udp::in_process_medium;

struct world {
  using transport = tutti::udp_multicast<tutti::loopback, tutti::detail::multicast::in_process_link>;

  template <class F>
  static std::vector<tutti::support::verdict> run(tutti::rank_type n, F const& f) {
    network net(n, {.loss = 0.01, .duplication = 0.01, .reordering = 0.01, .seed = n});
    return tutti::support::thread_ranks::run(n, [&](auto& meet) -> tutti::support::verdict {
      transport t(meet, {.network = {.network = &net}, .window = 16, .probe_time = 20s});  // for a busy machine
      if (n != 1 && !t.has_aggregator()) {
        return "there is no group: " + t.no_group_reason();
      }
      return apply(f, t, meet);
    });
  }

 private:
  template <class F, class Meet>
  static tutti::support::verdict apply(F const& f, transport& t, Meet& meet) {
    if constexpr (std::is_invocable_v<F const&, transport&, Meet&>) {
      return f(t, meet);
    } else {
      return f(t);
    }
  }
};

using test_cases = tutti::laws::transport_cases<world, tutti::laws::amounts_in_memory>;

support::cases const delivering = test_cases::delivering();
support::cases const filling_lanes = test_cases::filling_lanes();
support::cases const of_many_ranks = test_cases::of_many_ranks();
support::cases const failing = test_cases::failing();
support::cases const sleeping = test_cases::sleeping();

}  // namespace
