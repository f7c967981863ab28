// SPDX-License-Identifier: Apache-2.0
// test: plain (nothing of it runs)
#include <tutti/automatic.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/trace/memory_trace.hpp>
#include <tutti/trace/traffic_count.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

// Each model is shown to satisfy its concept here. In its header, every program that includes it would pay for the
// proof.

using namespace tutti;
using namespace tutti::detail;

static_assert(tracer<no_trace> && tracer<memory_trace> && tracer<traffic_count>);

static_assert(tutti::topology<ring> && tutti::topology<chain> && tutti::topology<binary_tree> &&
              tutti::topology<doubling>);
static_assert(tutti::topology<double_tree> && tutti::topology<butterfly> && tutti::topology<star> &&
              tutti::topology<direct>);
static_assert(has_aggregators<in_network, op::allreduce> &&
              has_aggregators<hierarchical<ring, in_network>, op::allreduce>);
static_assert(tutti::topology<hierarchical<ring, ring>> && tutti::topology<hierarchical<ring, ring, by_host>>);
static_assert(tutti::topology<selection> && chooses_schedule<automatic, op::allreduce> &&
              chooses_schedule<automatic, op::alltoall>);
static_assert(!chooses_schedule<ring, op::allreduce> && !chooses_schedule<selection, op::allreduce>);
static_assert(grouping<consecutive> && grouping<by_host>);
static_assert(tutti::topology<edge> && offers<edge, op::transfer>);
static_assert(tutti::topology<planned_schedule<true>> && offers<planned_schedule<true>, op::allreduce>);
static_assert(!tutti::topology<plan<true>> && identifiable<planned_schedule<true>> && identifiable<selection>);
static_assert(rooted_tree<binomial_tree> && rooted_tree<in_order_tree> && rooted_tree<line_tree>);
static_assert(rooted_tree<star_tree>);

static_assert(in_process<loopback> && detects_mismatch<loopback>);
static_assert(tutti::transport<tutti::shared_memory> && detects_mismatch<tutti::shared_memory> &&
              !in_process<tutti::shared_memory>);
static_assert(tutti::transport<tutti::tcp> && detects_mismatch<tutti::tcp> && !in_process<tutti::tcp>);
static_assert(!aggregates<loopback> && !aggregates<tutti::shared_memory> && !aggregates<tutti::tcp>);
static_assert(!waits_for_work<loopback> && !waits_for_work<tutti::shared_memory> && !waits_for_work<tutti::tcp>);

static_assert(names_world_ranks<loopback> && names_world_ranks<tutti::shared_memory>);
using processes_and_tcp = by_locality<tutti::shared_memory, tutti::tcp>;
using threads_and_tcp = by_locality<loopback, tutti::tcp>;
static_assert(tutti::transport<processes_and_tcp> && detects_mismatch<processes_and_tcp> &&
              !in_process<processes_and_tcp>);
static_assert(in_process<threads_and_tcp> && shares_memory<threads_and_tcp> && detects_mismatch<threads_and_tcp>);

static_assert(rendezvous<team_rendezvous<thread_rendezvous, launched_rendezvous>>);
static_assert(part_of_world<near_rendezvous<thread_rendezvous>>);
// A capability lost by a slip in a signature would give a wrong number, not an error.
static_assert(shares_memory<loopback> && shares_memory<tutti::shared_memory> && !shares_memory<tutti::tcp>);
static_assert(shares_memory<by_locality<tutti::shared_memory, tutti::tcp>> &&
              shares_memory<by_locality<loopback, tutti::tcp>>);
static_assert(provides_memory<tutti::shared_memory> && provides_memory<by_locality<tutti::shared_memory, tutti::tcp>>);
static_assert(!provides_memory<loopback> && !provides_memory<tutti::tcp>);

static_assert(rendezvous<thread_rendezvous> && rendezvous<process_rendezvous> && rendezvous<launched_rendezvous>);
static_assert(locates_hosts<thread_rendezvous> && locates_hosts<process_rendezvous>);
static_assert(locates_hosts<tcp_rendezvous> && locates_hosts<file_rendezvous> && locates_hosts<launched_rendezvous>);
static_assert(locates_hosts<team_rendezvous<thread_rendezvous, launched_rendezvous>>);
static_assert(rendezvous<tcp_rendezvous> && rendezvous<file_rendezvous>);

template <class... R>
constexpr bool all_reductions = (tutti::reduction<R> && ...);
static_assert(all_reductions<sum<int>, prod<int>, min<int>, max<int>>);
static_assert(all_reductions<sum<float>, prod<float>, min<float>, max<float>, mean<float>>);
static_assert(all_reductions<saturating_sum<std::int32_t>>);
static_assert(all_reductions<bit_and<unsigned>, bit_or<unsigned>, bit_xor<unsigned>>);
static_assert(all_reductions<bit_and<std::byte>, bit_or<std::byte>, bit_xor<std::byte>>);
static_assert(all_reductions<logical_and<>, logical_or<>, logical_xor<>>);
static_assert(all_reductions<logical_and<int>, logical_or<int>, logical_xor<int>>);
static_assert(tutti::reduction<functor<int, int (*)(int, int), named_t<'f'>>>);

BOOST_AUTO_TEST_CASE(the_models_tell_their_names) {
  BOOST_TEST(loopback::name == "loopback");
  BOOST_TEST(tutti::shared_memory::name == "shared_memory");
  BOOST_TEST(tutti::tcp::name == "tcp");
}
