// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/cases.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <unistd.h>

/// The test cases of every transport: a list for each group of laws. A program runs the lists that apply to its world,
/// with amounts of its own.
namespace tutti::laws {

struct delivery_amount {
  rank_type ranks;
  std::size_t largest;  ///< bytes
};
struct flow_amount {
  rank_type ranks;
  std::uint32_t flows;
};
struct lane_amount {
  std::size_t bytes;  ///< bytes of a message
  std::size_t limit;  ///< the most bytes that a lane takes in all
};
struct sleep_amount {
  rank_type ranks;
  std::uint32_t rounds;
  std::size_t bytes;
};
struct release_amount {
  std::uint32_t rounds;
  std::size_t bytes;
};
struct death_amount {
  rank_type ranks;
  rank_type victim;
};

/// The amounts of a transport whose messages take microseconds. Others derive from it, and replace amounts that are
/// too large.
struct amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{1, 100'003}, delivery_amount{2, 100'003},
                                         delivery_amount{5, 100'003}, delivery_amount{2, 5 << 20}};
  static constexpr std::array delivered_by_many{delivery_amount{17, 1000}};
  static constexpr std::array flows{flow_amount{2, 1000}, flow_amount{4, 200}};
  static constexpr std::array flows_of_many{flow_amount{17, 20}};
  static constexpr std::array in_lanes{lane_amount{4, 400}, lane_amount{1000, 100'000},
                                       lane_amount{100'000, 10'000'000}};
  static constexpr std::array<std::size_t, 3> view_bytes{8, 64, 5000};  ///< bytes of a message

  static constexpr std::array<rank_type, 3> ranks_of_faults{2, 3, 17};
  static constexpr bool has_one_fault_for_all = false;  ///< all ranks know the same one of several faults
  static constexpr std::array<rank_type, 2> ranks_of_mismatches{2, 5};
  static constexpr std::array<std::size_t, 3> left_unread{8, 8000, 80'000};  ///< bytes of a message
  static constexpr std::array destructions{delivery_amount{2, 10'000}, delivery_amount{2, 100'000},
                                           delivery_amount{5, 100}};
  static constexpr int quiescences = 40;  ///< worlds

  static constexpr std::array slept{sleep_amount{2, 10'000, 4}, sleep_amount{3, 1000, 1000},
                                    sleep_amount{3, 1000, 50'000}};
  static constexpr std::array releases{release_amount{1000, 4}, release_amount{1000, 1000}};
  static constexpr std::array<rank_type, 2> ranks_asleep_at_faults{2, 9};

  static constexpr std::array dead{death_amount{2, 0}, death_amount{4, 3}, death_amount{9, 1}};
  static constexpr std::array<pid_t (*)(), 1> forks{::fork};
};

/// The amounts of transports through memory that all ranks reach.
struct amounts_in_memory : amounts_of_laws {
  static constexpr bool has_one_fault_for_all = true;
};

/// @tparam Connected a world whose ranks are connected already, so that a short message is accepted at once
template <class World, class Amounts = amounts_of_laws, class ConnectedWorld = World>
struct transport_cases {
  using cases = ::support::cases;

  static cases delivering() {
    return {{"delivery", delivery}, {"granules", granules}, {"flows", flows}, {"views", views}};
  }
  /// Cases of transports that do not compare the length of a message with the length that its receiver expects.
  static cases filling_lanes() { return {{"lanes", lanes}}; }
  /// Cases that a slow transport omits.
  static cases of_many_ranks() { return {{"more_ranks_than_processors", more_ranks_than_processors}}; }
  static cases failing() {
    return {{"faults", faults},
            {"mismatches", mismatches},
            {"departures", departures},
            {"destruction", destruction},
            {"quiescence", quiescence}};
  }
  /// Cases of transports that sleep on a descriptor.
  static cases sleeping() { return {{"sleep", sleep}}; }
  /// Cases of ranks that are processes.
  static cases dying() { return {{"deaths", deaths}, {"helpers", helper_processes}, {"stops", stops}}; }

  static void delivery() {
    for (delivery_amount const& a : Amounts::deliveries) {
      delivers_everything_in_order<World>(a.ranks, a.largest);
    }
  }
  static void more_ranks_than_processors() {
    for (delivery_amount const& a : Amounts::delivered_by_many) {
      delivers_everything_in_order<World>(a.ranks, a.largest);
    }
    for (flow_amount const& a : Amounts::flows_of_many) {
      keeps_flows_apart<World>(a.ranks, a.flows);
    }
  }
  static void granules() { keeps_granules_whole<World>(); }
  static void flows() {
    for (flow_amount const& a : Amounts::flows) {
      keeps_flows_apart<World>(a.ranks, a.flows);
    }
  }
  static void lanes() {
    for (lane_amount const& a : Amounts::in_lanes) {
      full_lanes_hold_up_no_other<World>(a.bytes, a.limit);
    }
  }
  static void views() {
    for (std::size_t const bytes : Amounts::view_bytes) {
      views_are_stable_until_released<World>(bytes);
    }
  }

  static void faults() {
    for (rank_type const n : Amounts::ranks_of_faults) {
      faults_are_known_to_all<ConnectedWorld>(n);
      the_first_fault_wins<World>(n, Amounts::has_one_fault_for_all);
    }
  }
  static void mismatches() {
    for (rank_type const n : Amounts::ranks_of_mismatches) {
      mismatches_are_named<World>(n);
    }
    lost_count_is_a_mismatch<World>();
  }
  static void departures() {
    a_departed_peer_is_missed_when_it_is_needed<World>();
    for (std::size_t const bytes : Amounts::left_unread) {
      a_departed_reader_is_missed<World>(bytes);
    }
  }
  static void destruction() {
    for (delivery_amount const& a : Amounts::destructions) {
      destruction_with_work_in_flight_is_clean<World>(a.ranks, a.largest);
    }
  }
  static void quiescence() { quiesce_waits_for_readers_and_writers<World>(Amounts::quiescences); }

  static void sleep() {
    for (sleep_amount const& a : Amounts::slept) {
      sleepers_are_woken<World>(a.ranks, a.rounds, a.bytes);
    }
    for (release_amount const& a : Amounts::releases) {
      releases_wake<World>(a.rounds, a.bytes);
    }
    for (rank_type const n : Amounts::ranks_asleep_at_faults) {
      sleepers_learn_of_faults<World>(n);
    }
  }

  static void deaths() {
    for (death_amount const& a : Amounts::dead) {
      a_dead_process_is_found<World>(a.ranks, a.victim);
    }
  }
  static void helper_processes() {
    for (auto const fork : Amounts::forks) {
      a_helper_does_not_hide_a_death<World>(3, 1, fork);
    }
    a_forked_child_takes_no_part<World>();
  }
  static void stops() { a_stopped_process_is_waited_for<World>(); }
};

}  // namespace tutti::laws
