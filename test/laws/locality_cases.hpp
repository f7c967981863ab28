// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/locality.hpp>
#include <support/cases.hpp>

/// The test cases of by_locality<Near, tcp>: each law of a transport, over hosts of several sizes.
namespace tutti::laws {

template <class Near, class Ranks>
struct between_hosts {
  using mixed = world<support::emulated_hosts<Near, tcp, 2>, Ranks>;
  using uneven = world<support::emulated_hosts<Near, tcp, 3>, Ranks>;

  static ::support::cases delivering() {
    return {{"delivery", delivery},
            {"more_ranks_than_processors", more_ranks_than_processors},
            {"granules", granules},
            {"streams", streams},
            {"lanes", lanes},
            {"views", views},
            {"only_neighbours_read_a_message_where_it_is", only_neighbours_read_a_message_where_it_is}};
  }
  static ::support::cases failing() {
    return {{"faults", faults},           {"mismatches", mismatches}, {"names", names}, {"departures", departures},
            {"destruction", destruction}, {"quiescence", quiescence}, {"sleep", sleep}};
  }

  static void delivery() {
    on_some_hosts<Near, Ranks>([]<class World>() {
      for (rank_type const n : {1U, 2U, 5U}) {
        delivers_everything_in_order<World>(n, 100'003);
      }
    });
    delivers_everything_in_order<mixed>(4, 5 << 20);
    delivers_everything_in_order<uneven>(5, 100'003);
  }
  static void more_ranks_than_processors() { delivers_everything_in_order<uneven>(17, 1000); }
  static void granules() {
    on_some_hosts<Near, Ranks>([]<class World>() { keeps_granules_whole<World>(); });
  }
  static void streams() {
    on_some_hosts<Near, Ranks>([]<class World>() { keeps_streams_apart<World>(2, 300); });
    keeps_streams_apart<mixed>(4, 200);
    keeps_streams_apart<uneven>(17, 20);
  }
  static void lanes() { full_lanes_hold_up_no_other<mixed>(1000, 100'000); }
  static void views() {
    on_some_hosts<Near, Ranks>([]<class World>() {
      views_are_stable_until_released<World>(8);
      views_are_stable_until_released<World>(64);
      views_are_stable_until_released<World>(5000);
    });
  }
  static void only_neighbours_read_a_message_where_it_is() {
    check_all(mixed::run(4, [](auto& t) -> verdict {
      stream const s{0, 1};
      std::vector<std::byte> ordinary(1 << 20);
      std::span<std::byte> data(ordinary);
      if constexpr (provides_memory<Near>) {
        data = {static_cast<std::byte*>(t.memory()->take(data.size())), data.size()};
      }
      t.begin(s, a_call(1));
      for (rank_type peer = 0; peer < 4; ++peer) {
        if (t.shares(peer, s, data) != (peer / 2 == t.rank() / 2)) {
          return "rank " + std::to_string(peer) + (peer / 2 == t.rank() / 2 ? " may read it" : " cannot read it");
        }
      }
      if constexpr (provides_memory<Near>) {
        t.memory()->give(data.data(), data.size());
      }
      return "";
    }));
  }

  static void faults() {
    for (rank_type const n : {2U, 3U, 5U, 17U}) {
      faults_are_known_to_all<connected_world<Near, Ranks, 2>>(n);
      faults_are_known_to_all<connected_world<Near, Ranks, 3>>(n);
      the_first_fault_wins<mixed>(n, false);
    }
  }
  static void mismatches() {
    on_some_hosts<Near, Ranks>([]<class World>() {
      mismatches_are_named<World>(2);
      mismatches_are_named<World>(5);
      lost_count_is_a_mismatch<World>();
    });
  }
  static void names() { neighbours_are_named_by_their_world_ranks<mixed>(); }
  static void departures() {
    on_some_hosts<Near, Ranks>([]<class World>() {
      a_departed_peer_is_missed_when_it_is_needed<World>();
      a_departed_reader_is_missed<World>(8);
      a_departed_reader_is_missed<World>(80'000);
    });
  }
  static void destruction() {
    destruction_with_work_in_flight_is_clean<mixed>(4, 100'000);
    destruction_with_work_in_flight_is_clean<uneven>(5, 100);
  }
  static void quiescence() {
    on_some_hosts<Near, Ranks>([]<class World>() { quiesce_waits_for_readers<World>(20); });
  }
  static void sleep() {
    on_some_hosts<Near, Ranks>([]<class World>() {
      sleepers_are_woken<World>(2, 1000, 4);
      sleepers_are_woken<World>(3, 300, 1000);
      sleepers_learn_of_faults<World>(3);
    });
    sleepers_are_woken<mixed>(4, 50, 300'000);
    sleepers_learn_of_faults<uneven>(9);
  }
};

}  // namespace tutti::laws
