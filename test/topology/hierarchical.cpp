// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <bit>
#include <vector>

namespace {

using tutti::binary_tree;
using tutti::doubling;
using tutti::hierarchical;
using tutti::host_map;
using tutti::rank_type;
using tutti::ring;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

// Proofs for hosts of three ranks. The last host has fewer if 3 does not divide n.
static_assert(laws::hold<op::allreduce>(hierarchical{binary_tree{}, ring{}, 3}, 1, 4));
static_assert(laws::hold<op::reduce>(hierarchical{binary_tree{}, ring{}, 3}, 1, 4));
static_assert(laws::hold<op::broadcast>(hierarchical{binary_tree{}, ring{}, 3}, 1, 4));
static_assert(laws::hold<op::allreduce>(hierarchical{doubling{}, doubling{}, 3}, 1, 4));
static_assert(laws::hold<op::allreduce>(hierarchical{ring{}, tutti::butterfly{}, 3}, 1, 4));

static_assert(hierarchical<binary_tree, doubling>::keeps_rank_order);
static_assert(!hierarchical<binary_tree, ring>::keeps_rank_order && !hierarchical<ring, binary_tree>::keeps_rank_order);
static_assert(!hierarchical<binary_tree, doubling, tutti::detail::by_host>::keeps_rank_order);
static_assert(hierarchical<binary_tree, ring>::name == "hierarchical<binary_tree, ring>");

// An operation is offered if both topologies offer their part of it.
static_assert(tutti::offers<hierarchical<tutti::butterfly, tutti::butterfly>, op::broadcast>);
static_assert(!tutti::offers<hierarchical<tutti::butterfly, ring>, op::allreduce>);
static_assert(!tutti::offers<hierarchical<ring, tutti::butterfly>, op::reduce>);
static_assert(!tutti::offers<hierarchical<ring, ring>, op::allgather>);

template <class Inner>
void check_over_every_outer(std::initializer_list<rank_type> sizes) {
  for (rank_type const per_host : {1U, 2U, 3U, 4U, 8U, 100U}) {
    laws::check(hierarchical{Inner{}, ring{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, tutti::chain{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, binary_tree{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, tutti::double_tree{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, doubling{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, tutti::butterfly{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, tutti::star{}, per_host}, sizes);
    laws::check(hierarchical{Inner{}, tutti::direct{}, per_host}, sizes);
  }
}

BOOST_AUTO_TEST_CASE(is_right_whatever_it_is_made_of) {
  check_over_every_outer<ring>({1, 2, 5, 6, 8, 11});
  check_over_every_outer<binary_tree>({1, 4, 6, 9});
  check_over_every_outer<tutti::double_tree>({4, 7, 12});
  laws::check(hierarchical{tutti::chain{}, ring{}, 3}, {5, 6, 12});
  laws::check(hierarchical{doubling{}, ring{}, 4}, {5, 8, 13});
  laws::check(hierarchical{tutti::star{}, ring{}, 4}, {5, 8, 13});
  laws::check(hierarchical{tutti::direct{}, ring{}, 4}, {5, 8, 13});
}

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  for (rank_type n = 5; n <= 17; ++n) {
    laws::check(hierarchical{binary_tree{}, ring{}, 3}, {n});
    laws::check(hierarchical{doubling{}, doubling{}, 3}, {n});
    laws::check(hierarchical{ring{}, tutti::butterfly{}, 3}, {n});
  }
  laws::check(hierarchical{binary_tree{}, ring{}, 8}, {31, 32, 33, 64, 100});
  BOOST_TEST(bool(laws::run(hierarchical{binary_tree{}, doubling{}, 16}, op::allreduce{}, 1000)));
}

/// Hosts of a launcher that deals ranks out round-robin.
host_map dealt_out(rank_type n, rank_type hosts) {
  std::vector<rank_type> host_of;
  for (rank_type r = 0; r < n; ++r) {
    host_of.push_back(r % hosts);
  }
  return host_map(host_of);
}

BOOST_AUTO_TEST_CASE(is_right_wherever_the_ranks_are) {
  for (auto const& host_of : {std::vector{0},
                              {7, 7, 7, 2, 2},
                              {2, 2, 7, 7, 7},
                              {1, 2, 2, 1, 1},
                              {0, 1, 1, 1, 2, 2},
                              {0, 1, 2, 0, 1, 2, 0},
                              {0, 1, 2, 3, 4, 5, 6}}) {
    const host_map map(host_of);
    laws::check(hierarchical{binary_tree{}, ring{}, map}, {map.ranks()});
    laws::check(hierarchical{ring{}, ring{}, map}, {map.ranks()});
    laws::check(hierarchical{ring{}, doubling{}, map}, {map.ranks()});
    laws::check(hierarchical{tutti::double_tree{}, tutti::butterfly{}, map}, {map.ranks()});
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_makes_no_sense) {
  BOOST_CHECK_THROW(hierarchical(ring{}, ring{}, 0), tutti::precondition_error);
  const host_map map = dealt_out(6, 2);
  BOOST_CHECK_THROW(std::ignore = hierarchical(ring{}, ring{}, map).blocks(op::allreduce{}, 5),
                    tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(needs_no_waiting) {
  for (rank_type n = 2; n <= 17; ++n) {
    for (rank_type const per_host : {2U, 4U}) {
      auto const tree = hierarchical{binary_tree{}, ring{}, per_host};
      BOOST_TEST(combine(verify(tree, op::allreduce{}, n), verify(tree, op::reduce{n / 2}, n)).has_no_write_after_read);
      auto const rings = hierarchical{ring{}, ring{}, per_host};
      BOOST_TEST(
          combine(verify(rings, op::allreduce{}, n), verify(rings, op::broadcast{n / 2}, n)).has_no_write_after_read);
    }
  }
}

/// The messages of all ranks to ranks of other hosts.
struct between_hosts {
  std::uint64_t messages = 0;
  std::uint64_t elements = 0;
  std::uint64_t pairs = 0;  ///< the number of pairs (sender, receiver)

  friend bool operator==(between_hosts, between_hosts) = default;
};

template <class Topology, tutti::detail::grouping Groups>
between_hosts count(Topology const& topology, Groups const& hosts, rank_type n, std::size_t vector) {
  between_hosts total;
  op::allreduce const o;
  for (rank_type r = 0; r < n; ++r) {
    std::vector<bool> is_counted(n);
    for (std::uint32_t i = 0; i < topology.steps(o, n, r); ++i) {
      const step s = topology.at(o, n, r, i);
      if (s.sends() && hosts.group(n, s.send.peer) != hosts.group(n, r)) {
        ++total.messages;
        total.elements += tutti::detail::elements_in(vector, topology.blocks(o, n), s.send.blocks);
        total.pairs += is_counted[s.send.peer] ? 0U : 1U;
        is_counted[s.send.peer] = true;
      }
    }
  }
  return total;
}

// Among h hosts of p ranks there are the messages of h ranks.
BOOST_AUTO_TEST_CASE(there_is_one_flow_between_hosts) {
  for (rank_type const h : {2U, 3U, 4U, 8U}) {
    for (rank_type const p : {1U, 2U, 4U, 8U}) {
      const rank_type n = h * p;
      const std::uint64_t S = 5040 * 16;
      const tutti::detail::consecutive hosts(p);
      auto const rings = count(hierarchical{binary_tree{}, ring{}, p}, hosts, n, S);
      BOOST_TEST((rings == between_hosts{.messages = 2 * h * (h - 1), .elements = 2 * (h - 1) * S, .pairs = h}));
      auto const exchanges = count(hierarchical{binary_tree{}, doubling{}, p}, hosts, n, S);
      BOOST_TEST(exchanges.elements == cost_of(doubling{}, op::allreduce{}, h, S).traffic);
      BOOST_TEST(exchanges.messages == cost_of(doubling{}, op::allreduce{}, h, S).messages);

      // A flat ring over consecutive ranks sends nearly as many bytes between hosts, in p times as many messages.
      auto const flat = count(ring{}, hosts, n, S);
      BOOST_TEST((flat == between_hosts{.messages = 2 * h * (n - 1), .elements = 2 * (n - 1) * S / p, .pairs = h}));
      // With ranks dealt out round-robin every hop of the ring is between hosts: p times as many bytes.
      const host_map map = dealt_out(n, h);
      auto const dealt = count(ring{}, tutti::detail::by_host(map), n, S);
      BOOST_TEST((dealt == between_hosts{.messages = 2 * n * (n - 1), .elements = 2 * (n - 1) * S, .pairs = n}));
      BOOST_TEST((count(hierarchical{binary_tree{}, ring{}, map}, tutti::detail::by_host(map), n, S) == rings));
      // In recursive doubling each rank sends between hosts: p times as many bytes.
      if (std::has_single_bit(h)) {
        BOOST_TEST(count(doubling{}, hosts, n, S).elements == p * exchanges.elements);
      }
    }
  }
}

// The stages of one segment run one after the other.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  const std::uint64_t S = 5040;
  for (rank_type const h : {2U, 3U, 5U}) {
    for (rank_type const p : {2U, 4U, 8U}) {
      const hierarchical both_ways{doubling{}, ring{}, p};
      auto const stages = price(doubling{}, op::reduce{0}, p, S, L, G) + price(ring{}, op::allreduce{}, h, S, L, G) +
                          price(doubling{}, op::broadcast{0}, p, S, L, G);
      BOOST_TEST(price(both_ways, op::allreduce{}, h * p, S, L, G) == stages);

      auto const c = cost_of(both_ways, op::allreduce{}, h * p, S);
      BOOST_TEST(c.messages == 2 * h * (p - 1) + 2 * h * (h - 1));
      BOOST_TEST(c.traffic == 2 * h * (p - 1) * S + 2 * (h - 1) * S);
      BOOST_TEST(cost_of(both_ways, op::reduce{h}, h * p, S).messages == h * (p - 1) + h * (h - 1));
      BOOST_TEST(cost_of(both_ways, op::broadcast{h}, h * p, S).traffic == (h * p - 1) * S);
    }
  }
}

// Settings depend on the groups, not on the kind of grouping.
BOOST_AUTO_TEST_CASE(settings_tell_groupings_apart) {
  auto const identity = [](auto const& topology, rank_type n) { return topology.settings(n).identity; };
  auto const label = [](auto const& topology, rank_type n) { return std::string(topology.settings(n).label); };
  auto const hosts_of = [](rank_type size) { return hierarchical{binary_tree{}, ring{}, size}; };
  host_map const pairs(std::vector{0, 0, 1, 1, 2, 2});
  host_map const dealt(std::vector{0, 1, 2, 0, 1, 2});
  hierarchical const by_pairs{binary_tree{}, ring{}, pairs};
  hierarchical const by_dealt{binary_tree{}, ring{}, dealt};

  for (rank_type a = 1; a <= 6; ++a) {
    for (rank_type b = 1; b <= 6; ++b) {
      BOOST_TEST((identity(hosts_of(a), 6) == identity(hosts_of(b), 6)) == (a == b));
    }
  }
  BOOST_TEST(identity(hosts_of(6), 6) == identity(hosts_of(100), 6));
  BOOST_TEST(identity(hosts_of(2), 6) == identity(by_pairs, 6));
  BOOST_TEST(identity(hosts_of(2), 6) != identity(by_dealt, 6));
  BOOST_TEST(identity(hosts_of(3), 6) != identity(by_dealt, 6));
  // The settings of Inner and Outer count, too.
  BOOST_TEST(identity(hierarchical{hosts_of(2), ring{}, 6U}, 6) != identity(hierarchical{hosts_of(3), ring{}, 6U}, 6));
  BOOST_TEST(identity(hierarchical{binary_tree{}, hosts_of(2), 1U}, 6) !=
             identity(hierarchical{binary_tree{}, hosts_of(3), 1U}, 6));

  BOOST_TEST(label(hosts_of(2), 6) == "hosts of 2");
  BOOST_TEST(label(hosts_of(65535), 6) == "hosts of 655");  // cut off at the length of a label
  BOOST_TEST(label(by_pairs, 6).starts_with("hosts "));
  BOOST_TEST(label(by_pairs, 6) != label(by_dealt, 6));
}

/// Hosts of equal sizes that count the questions that they answer.
class counted_hosts : public tutti::detail::consecutive {
 public:
  using consecutive::consecutive;
  static inline std::size_t questions = 0;

  rank_type group(rank_type n, rank_type r) const { return ++questions, consecutive::group(n, r); }
  rank_type size(rank_type n, rank_type k) const { return ++questions, consecutive::size(n, k); }
  template <class F>
  void for_each_size(rank_type n, F f) const {
    consecutive::for_each_size(n, [&](rank_type size) { ++questions, f(size); });
  }
};
static_assert(tutti::detail::grouping<counted_hosts> && tutti::detail::grouping<tutti::detail::by_host>);

BOOST_AUTO_TEST_CASE(a_step_costs_no_more_among_many_hosts_than_among_few) {
  auto const questions = [](rank_type hosts) {
    hierarchical<binary_tree, ring, counted_hosts> const topology({}, {}, counted_hosts(4));
    rank_type const n = hosts * 4;
    counted_hosts::questions = 0;
    BOOST_TEST(topology.blocks(op::allreduce{}, n) == hosts);
    for (std::uint32_t i = 0; i < 4; ++i) {  // rank 0 leads its host
      step const s = topology.at(op::allreduce{}, n, 0, i);
      BOOST_TEST((s.sends() || s.receives()));
    }
    return counted_hosts::questions;
  };
  BOOST_TEST(questions(10) > 0U);
  BOOST_TEST(questions(1000) == questions(10));
}

BOOST_AUTO_TEST_CASE(a_map_of_hosts_knows_each_size_once) {
  host_map const map(std::vector{0, 1, 2, 0, 1, 3, 0, 2, 4});
  BOOST_TEST((map.sizes() == std::vector<rank_type>{3, 2, 1}));
  BOOST_TEST(host_map().sizes().empty());
}

}  // namespace
