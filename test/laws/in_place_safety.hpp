// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/reducing_operators.hpp>
#include <models/puppet_transport.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/engine/readers.hpp>
#include <tutti/detail/verify/contents.hpp>

#include <memory>
#include <string>
#include <utility>

namespace laws {

/// The transport's treatment of long messages, and of places for received data.
struct puppet_ways {
  bool shares_long = false;
  bool writes_places = false;
};
inline constexpr puppet_ways all_puppet_ways[] = {{true, false}, {false, false}, {true, true}};

/// An operation in place is right whatever is delayed, and no rank reads memory after it is given back. One thread runs
/// all ranks; `seed` decides which rank advances when.
template <class Op, class Topology, class R>
[[nodiscard]] std::string in_place_safety(Topology topology, R reduction, rank_type n, std::size_t count,
                                          std::size_t segment, puppet_ways ways, std::uint64_t seed) {
  using T = typename R::value_type;
  using world_type = tutti::communicator<models::puppet>;
  models::puppet_stage stage(n, seed);
  stage.shares_long = ways.shares_long;
  stage.writes_places = ways.writes_places;

  struct rank {
    rank(models::echo_rendezvous meet, Topology t, R r, models::puppet_stage& s)
        : world(meet, {.role = {}, .transport = {&s}}), op(make_operator(Op{}, world, t, r)) {}
    world_type world;
    decltype(make_operator(Op{}, std::declval<world_type&>(), std::declval<Topology>(), std::declval<R>())) op;
    std::vector<T> data[2];
    tutti::request pending[2];
    bool is_done[2] = {};
  };
  std::vector<std::unique_ptr<rank>> ranks;
  for (rank_type r = 0; r < n; ++r) {
    ranks.push_back(std::make_unique<rank>(models::echo_rendezvous(r, n), topology, reduction, stage));
    ranks[r]->op.segment(segment);
    for (std::size_t k = 0; k < 2; ++k) {
      ranks[r]->data[k] = contributions<T>(r, count, k);
    }
  }

  std::string const name(tutti::name(tutti::detail::verify::kind_of<Op>));
  std::string complaint;
  std::size_t left = 2 * n;
  for (std::size_t moves = 0; left != 0; ++moves) {
    if (moves == 200000) {
      return wrong<Topology>("it never ends: " + name, R::name, n, count, segment);
    }
    for (rank_type r = 0; r < n; ++r) {
      if (stage.chance(3)) {
        continue;
      }
      for (std::size_t k = 0; k < 2; ++k) {
        rank& me = *ranks[r];
        if (me.is_done[k]) {
          continue;
        }
        if (!me.pending[k].valid()) {
          me.pending[k] = me.op.start(me.data[k]);
        }
        if (me.pending[k].test()) {
          me.is_done[k] = true;
          --left;
          rank_type const prefix_ranks = tutti::contributions<Op>(n, r);
          if (!equal_bits(me.data[k], prefix_ranks == 0 ? contributions<T>(r, count, k)
                                                        : sequential(reduction, prefix_ranks, count, k))) {
            complaint = wrong<Topology>("rank " + std::to_string(r) + " of " + name, R::name, n, count, segment);
          }
          spoil(me.data[k]);
        }
      }
    }
  }
  return complaint;
}

/// Checks in_place_safety in many worlds, lengths and interleavings.
template <class Op = tutti::op::allreduce, class Topology, class R>
[[nodiscard]] std::string in_place_safety_everywhere(Topology topology, R reduction, std::uint64_t seeds) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 5U, 7U, 8U}) {
    for (std::size_t const count : {std::size_t{1}, std::size_t{24}, std::size_t{97}}) {
      for (std::size_t const segment : {std::size_t{0}, std::size_t{64}}) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          for (puppet_ways const ways : all_puppet_ways) {
            auto const complaint = in_place_safety<Op>(topology, reduction, n, count, segment, ways, seed);
            if (!complaint.empty()) {
              return complaint + ", seed " + std::to_string(seed) + (ways.shares_long ? ", shared" : ", copied") +
                     (ways.writes_places ? ", written by the transport" : "");
            }
          }
        }
      }
    }
  }
  return {};
}

}  // namespace laws
