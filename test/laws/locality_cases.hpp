// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/locality.hpp>
#include <support/cases.hpp>

/// The test cases of by_locality<Near, tcp>: each law of a transport, over hosts of several sizes.
namespace tutti::laws {

template <class Neighbours, class Ranks>
struct between_hosts {
  using transport = support::emulated_hosts<Neighbours, tcp>;
  using hosts = world<transport, Ranks>;
  using connected_hosts = world_with_connections<transport, Ranks>;

  static ::support::cases delivering() {
    return {{"delivery", delivery},
            {"more_ranks_than_processors", more_ranks_than_processors},
            {"granules", granules},
            {"flows", flows},
            {"lanes", lanes},
            {"views", views},
            {"only_neighbours_read_a_message_where_it_is", only_neighbours_read_a_message_where_it_is}};
  }
  static ::support::cases failing() {
    return {{"faults", faults},           {"mismatches", mismatches}, {"names", names}, {"departures", departures},
            {"destruction", destruction}, {"quiescence", quiescence}, {"sleep", sleep}};
  }

  /// Hosts of two ranks, of one, and one host of all.
  template <class F>
  static void on_some_hosts(F f) {
    on_hosts_of<transport>({2, 1, 100}, f);
  }
  /// Hosts of three ranks; the last one has the rest.
  template <class F>
  static void on_uneven_hosts(F f) {
    on_hosts_of<transport>({3}, f);
  }

  static void delivery() {
    on_some_hosts([] {
      for (rank_type const n : {1U, 2U, 5U}) {
        delivers_everything_in_order<hosts>(n, 100'003);
      }
    });
    delivers_everything_in_order<hosts>(4, 5 << 20);
    on_uneven_hosts([] { delivers_everything_in_order<hosts>(5, 100'003); });
  }
  static void more_ranks_than_processors() {
    on_uneven_hosts([] { delivers_everything_in_order<hosts>(17, 1000); });
  }
  static void granules() {
    on_some_hosts([] { keeps_granules_whole<hosts>(); });
  }
  static void flows() {
    on_some_hosts([] { keeps_flows_apart<hosts>(2, 300); });
    keeps_flows_apart<hosts>(4, 200);
    on_uneven_hosts([] { keeps_flows_apart<hosts>(17, 20); });
  }
  static void lanes() { full_lanes_hold_up_no_other<hosts>(1000, 100'000); }
  static void views() {
    on_some_hosts([] {
      for (std::size_t const bytes : {8UL, 64UL, 5000UL}) {
        views_are_stable_until_released<hosts>(bytes);
      }
    });
  }
  static void only_neighbours_read_a_message_where_it_is() {
    check_all(hosts::run(4, [](auto& t) -> verdict {
      flow const s{0, 1};
      std::vector<std::byte> ordinary(1 << 20);
      std::span<std::byte> data(ordinary);
      if constexpr (provides_memory<Neighbours>) {
        data = {static_cast<std::byte*>(t.memory()->take(data.size())), data.size()};
      }
      t.begin(s, a_call(1));
      for (rank_type peer = 0; peer < 4; ++peer) {
        if (t.shares(peer, s, data) != (peer / 2 == t.rank() / 2)) {
          return "rank " + std::to_string(peer) + (peer / 2 == t.rank() / 2 ? " may read it" : " cannot read it");
        }
      }
      if constexpr (provides_memory<Neighbours>) {
        t.memory()->give(data.data(), data.size());
      }
      return "";
    }));
  }

  static void faults() {
    for (rank_type const n : {2U, 3U, 5U, 17U}) {
      on_hosts_of<transport>({2, 3}, [n] { faults_are_known_to_all<connected_hosts>(n); });
      the_first_fault_wins<hosts>(n, false);
    }
  }
  static void mismatches() {
    on_some_hosts([] {
      mismatches_are_named<hosts>(2);
      mismatches_are_named<hosts>(5);
      lost_count_is_a_mismatch<hosts>();
    });
  }
  static void names() { neighbours_are_named_by_their_world_ranks<hosts>(); }
  static void departures() {
    on_some_hosts([] {
      a_departed_peer_is_missed_when_it_is_needed<hosts>();
      a_departed_reader_is_missed<hosts>(8);
      a_departed_reader_is_missed<hosts>(80'000);
      check_all(connected_hosts::run(3, [](transport& t, auto&) -> verdict {
        return t.rank() == 2 ? "" : support::drive_until(t, [&] { return t.has_left(2); });
      }));
    });
  }
  static void destruction() {
    destruction_with_work_in_flight_is_clean<hosts>(4, 100'000);
    on_uneven_hosts([] { destruction_with_work_in_flight_is_clean<hosts>(5, 100); });
  }
  static void quiescence() {
    on_some_hosts([] { quiesce_waits_for_readers_and_writers<hosts>(20); });
  }
  static void sleep() {
    on_some_hosts([] {
      sleepers_are_woken<hosts>(2, 1000, 4);
      sleepers_are_woken<hosts>(3, 300, 1000);
      sleepers_learn_of_faults<hosts>(3);
    });
    sleepers_are_woken<hosts>(4, 50, 300'000);
    on_uneven_hosts([] { sleepers_learn_of_faults<hosts>(9); });
  }
};

}  // namespace tutti::laws
