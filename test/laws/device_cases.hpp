// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/device_failure.hpp>
#include <laws/enqueued.hpp>
#include <support/cases.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/selection.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

/// The test cases of operations in kernels that reach each other's memory, on devices and on models of them.
namespace laws {

/// @tparam Amounts `options_for(groups, deadline)` returns the options of a world, `counts()` the lengths of vectors,
/// some of
///     them cut into more parts than there are groups; `short_deadline` passes in a test, and one of
///     `ranks_of_a_late_one` ranks never arrives
template <class Transport, class Amounts>
struct device_cases {
  using cases = ::support::cases;

  static cases operations() {
    return {{"allreduce_by_direct", allreduce_by_direct},
            {"allreduce", allreduce},
            {"allreduce_of_other_elements", allreduce_of_other_elements},
            {"reduce", reduce},
            {"reduce_scatter", reduce_scatter},
            {"allgather", allgather},
            {"broadcast", broadcast}};
  }
  static cases streams() {
    return {{"operations_of_two_streams_keep_their_order", operations_of_two_streams_keep_their_order}};
  }
  static cases failing() {
    return {
        {"a_rank_that_never_comes", never_comes}, {"a_rank_that_has_left", has_left}, {"another_count", other_count}};
  }

  template <class Op, class R, class... Topology>
  static void on_topologies(std::vector<rank_type> const& ranks, Op operation, R reduction,
                            Topology const&... topology) {
    auto options = Amounts::options_for(2);
    options.transport.scratch_bytes = 8192;
    BOOST_TEST(enqueued_have_bits_of_engine<Transport>(options, ranks, Amounts::counts(), operation, reduction,
                                                       topology...) == "");
  }
  static std::vector<rank_type> few_ranks() { return {1, 2, 3, 4}; }

  static void allreduce_by_direct() {
    on_topologies({1, 2, 3, 4, 5, 7, 8}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{});
  }
  static void allreduce() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies(few_ranks(), op::allreduce{}, tutti::sum<float>{}, selection(ring), selection(doubling),
                  selection(butterfly), selection(binary_tree), selection(double_tree), selection(chain),
                  selection(star));
    on_topologies({5, 8}, op::allreduce{}, tutti::sum<float>{}, selection(ring), selection(butterfly));
  }
  static void allreduce_of_other_elements() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies({2, 3}, op::allreduce{}, tutti::sum<tutti::half>{}, selection(ring), tutti::direct{});
    on_topologies({2, 3}, op::allreduce{}, tutti::mean<double>{}, selection(doubling));
    on_topologies({2, 4}, op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{}, selection(ring));
    on_topologies({2, 3}, op::allreduce{}, tutti::accumulate_in<float, tutti::sum<tutti::bfloat16>>{}, tutti::direct{});
  }
  static void reduce() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies(few_ranks(), op::reduce{}, tutti::sum<float>{}, selection(direct), selection(ring),
                  selection(binary_tree));
  }
  static void reduce_scatter() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies(few_ranks(), op::reduce_scatter{}, tutti::mean<float>{}, selection(ring), selection(butterfly));
  }
  static void allgather() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies(few_ranks(), op::allgather{}, tutti::sum<float>{}, selection(ring), selection(doubling));
  }
  static void broadcast() {
    using enum tutti::schedule_kind;
    using tutti::selection;
    on_topologies(few_ranks(), op::broadcast{}, tutti::sum<float>{}, selection(direct), selection(doubling),
                  selection(chain));
  }

  static void operations_of_two_streams_keep_their_order() {
    auto const complaints_of_ranks = complaints(
        4,
        [](auto& world) {
          tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
          typename Transport::stream_type first;
          typename Transport::stream_type second;
          device_array const v(std::vector<int>(1000, 1), first);
          tutti::barrier{world, tutti::ring{}}();
          for (int i = 0; i != 8; ++i) {
            sum.enqueue(v, i % 2 == 0 ? first : second);
          }
          stream_wait(world, second).run();
          stream_wait(world, first).run();
          auto const values = v.values(first);
          require(std::count(values.begin(), values.end(), 65536) == 1000, "eight sums one after the other");
        },
        Amounts::options_for(2));
    BOOST_TEST(std::count(complaints_of_ranks.begin(), complaints_of_ranks.end(), "") == 4, complaints_of_ranks[0]);
  }

  static void never_comes() {
    a_rank_that_never_comes<Transport>(Amounts::ranks_of_a_late_one, Amounts::options_for(2, Amounts::short_deadline));
  }
  static void has_left() { a_rank_that_has_left<Transport>(Amounts::options_for(1)); }
  static void other_count() { another_count<Transport>(Amounts::options_for(1)); }
};

}  // namespace laws
