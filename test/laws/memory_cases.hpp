// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/cases.hpp>

/// The test cases of transports that go through memory. `Quiesces`: how often one quiesces while peers read.
namespace tutti::laws {

template <class World, int Quiesces = 40>
struct through_memory {
  static ::support::cases delivering() {
    return {{"delivery", delivery}, {"more_ranks_than_processors", more_ranks_than_processors},
            {"granules", granules}, {"flows", flows},
            {"lanes", lanes},       {"views", views}};
  }
  static ::support::cases failing() {
    return {{"faults", faults},           {"mismatches", mismatches}, {"departures", departures},
            {"destruction", destruction}, {"quiescence", quiescence}, {"sleep", sleep}};
  }

  static void delivery() {
    for (rank_type const n : {1U, 2U, 5U}) {
      delivers_everything_in_order<World>(n, 100'003);
    }
    delivers_everything_in_order<World>(2, 5 << 20);
  }
  static void more_ranks_than_processors() {
    delivers_everything_in_order<World>(17, 1000);
    keeps_flows_apart<World>(17, 20);
  }
  static void granules() { keeps_granules_whole<World>(); }
  static void flows() {
    keeps_flows_apart<World>(2, 1000);
    keeps_flows_apart<World>(4, 200);
  }
  static void lanes() {
    for (std::size_t const bytes : {4UL, 1000UL, 100'000UL}) {
      full_lanes_hold_up_no_other<World>(bytes, bytes * 100);
    }
  }
  static void views() {
    views_are_stable_until_released<World>(8);
    views_are_stable_until_released<World>(64);
    views_are_stable_until_released<World>(5000);
  }

  static void faults() {
    for (rank_type const n : {2U, 3U, 17U}) {
      faults_are_known_to_all<World>(n);
      the_first_fault_wins<World>(n, true);
    }
  }
  static void mismatches() {
    mismatches_are_named<World>(2);
    mismatches_are_named<World>(5);
    lost_count_is_a_mismatch<World>();
  }
  static void departures() {
    a_departed_peer_is_missed_when_it_is_needed<World>();
    for (std::size_t const bytes : {8UL, 8000UL, 80'000UL}) {
      a_departed_reader_is_missed<World>(bytes);
    }
  }
  static void destruction() {
    for (std::size_t const bytes : {10'000UL, 100'000UL}) {
      destruction_with_work_in_flight_is_clean<World>(2, bytes);
    }
    destruction_with_work_in_flight_is_clean<World>(5, 100);
  }
  static void quiescence() { quiesce_waits_for_readers_and_writers<World>(Quiesces); }
  static void sleep() {
    sleepers_are_woken<World>(2, 10'000, 4);
    for (std::size_t const bytes : {1000UL, 50'000UL}) {
      sleepers_are_woken<World>(3, 1000, bytes);
    }
    releases_wake<World>(1000, 4);
    releases_wake<World>(1000, 1000);
    sleepers_learn_of_faults<World>(2);
    sleepers_learn_of_faults<World>(9);
  }
};

}  // namespace tutti::laws
