// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

// Schedules that are wrong as a whole, and what the verifier says about them.

#include <vector>

namespace {

using tutti::action;
using tutti::block_range;
using tutti::endpoint;
using tutti::memory;
using tutti::no_rank;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

/// A schedule for one number of ranks, written out.
template <class Op, rank_type N, std::uint32_t Blocks, bool Order = false>
struct table {
  static constexpr std::string_view name = "table";
  static constexpr bool keeps_order = Order;
  static constexpr bool sends_raw_contributions = false;

  std::vector<step> ranks[N];

  constexpr std::uint32_t blocks(Op, rank_type) const { return Blocks; }
  constexpr std::uint32_t steps(Op, rank_type, rank_type me) const {
    return static_cast<std::uint32_t>(ranks[me].size());
  }
  constexpr step at(Op, rank_type, rank_type me, std::uint32_t i) const { return ranks[me][i]; }
};

constexpr block_range all{0, 1};

constexpr step give(rank_type to, memory from) {
  return {.send = {to, from, all}};
}
constexpr step take(rank_type from, memory arrives) {
  return {.receive = {from, memory::output, all}, .arrives = arrives};
}

BOOST_AUTO_TEST_CASE(each_waits_for_the_other) {
  // To receive first and then send, all of them: no buffer helps.
  table<op::allreduce, 2, 1> const t{{{{.receive = {1, memory::output, all},
                                        .how = action::fold_right,
                                        .local = memory::input,
                                        .arrives = memory::input},
                                       give(1, memory::input)},
                                      {{.receive = {0, memory::output, all},
                                        .how = action::fold_left,
                                        .local = memory::input,
                                        .arrives = memory::input},
                                       give(0, memory::input)}}};
  auto const v = tutti::verify(t, op::allreduce{}, 2);
  BOOST_TEST(!v.finishes);
  BOOST_TEST(v.reason == "waits for a message that is never sent");
}

BOOST_AUTO_TEST_CASE(all_send_first) {
  // Right if a message can be buffered. Tell it from the one above.
  const step fold_right{
      .receive = {1, memory::output, all}, .how = action::fold_right, .local = memory::input, .arrives = memory::input};
  const step fold_left{
      .receive = {0, memory::output, all}, .how = action::fold_left, .local = memory::input, .arrives = memory::input};
  table<op::allreduce, 2, 1> const t{{{give(1, memory::input), fold_right}, {give(0, memory::input), fold_left}}};
  auto const v = tutti::verify(t, op::allreduce{}, 2);
  BOOST_TEST((!v.finishes && v.exact && v.matched));
  BOOST_TEST(v.reason == "waits for ever if there are no buffers");

  step both_right = fold_right;
  both_right.send = give(1, memory::input).send;
  step both_left = fold_left;
  both_left.send = give(0, memory::input).send;
  table<op::allreduce, 2, 1> const exchange{{{both_right}, {both_left}}};
  BOOST_TEST(bool(tutti::verify(exchange, op::allreduce{}, 2)));
}

// Rank 0 hands on to rank 2 what it has from rank 1, the root, and then gets it once more.
BOOST_AUTO_TEST_CASE(a_write_that_can_overtake_a_reader) {
  table<op::broadcast, 3, 1> const hasty{
      {{take(1, memory::input), give(2, memory::output), take(1, memory::input)},
       {give(0, memory::input), give(0, memory::input)},  // does not know whether rank 2 has read
       {take(0, memory::output)}}};
  auto const v = tutti::verify(hasty, op::broadcast{1}, 3);
  BOOST_TEST((bool(v) && !v.war_free));

  table<op::broadcast, 3, 1> const patient{
      {{take(1, memory::input), give(2, memory::output), take(2, memory::output)},
       {give(0, memory::input)},
       {take(0, memory::output), give(0, memory::output)}}};  // knows: it was the reader
  auto const w = tutti::verify(patient, op::broadcast{1}, 3);
  BOOST_TEST((bool(w) && w.war_free));
}

// The same with a late second message: however the ranks happen to run, rank 3 does not know that rank 2
// has read.
BOOST_AUTO_TEST_CASE(a_reader_that_happens_to_be_early) {
  table<op::broadcast, 4, 1> const lucky{{{take(1, memory::input), give(3, memory::output)},
                                          {give(3, memory::input), give(0, memory::input)},
                                          {take(3, memory::output)},
                                          {take(1, memory::input), give(2, memory::output), take(0, memory::output)}}};
  auto const v = tutti::verify(lucky, op::broadcast{1}, 4);
  BOOST_TEST((bool(v) && !v.war_free));
}

// The usual alltoall, to the right while from the left: fine out of place, not in place.
struct rotation {
  static constexpr std::string_view name = "rotation";
  static constexpr bool keeps_order = true;
  static constexpr bool sends_raw_contributions = true;

  std::uint32_t blocks(op::alltoall, rank_type n) const { return n; }
  std::uint32_t steps(op::alltoall, rank_type n, rank_type) const { return n; }
  step at(op::alltoall, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type to = (me + i) % n;
    const rank_type from = (me + n - i) % n;
    return i == 0 ? tutti::detail::keep_own(me)
                  : step{.send = {to, memory::input, {to, 1}},
                         .receive = {from, memory::output, {from, 1}},
                         .arrives = memory::input};
  }
};

BOOST_AUTO_TEST_CASE(overwrites_in_place_what_it_has_to_send) {
  auto const v = tutti::verify(rotation{}, op::alltoall{}, 4);
  BOOST_TEST(v.reason == "ends without its result");
  BOOST_TEST(bool(tutti::verify(rotation{}, op::alltoall{}, 2)));  // both at once
}

// Rank 1's contribution counted twice and rank 2's not at all: the number is right, the sum is not.
BOOST_AUTO_TEST_CASE(the_right_number_of_wrong_contributions) {
  auto const fold = [](rank_type from, memory local, memory to) {
    return step{.receive = {from, to, all}, .how = action::fold_right, .local = local, .arrives = memory::input};
  };
  table<op::reduce, 3, 1> const twice{{{fold(1, memory::input, memory::work), fold(1, memory::work, memory::output)},
                                       {give(0, memory::input), give(0, memory::input)},
                                       {}}};
  auto const v = tutti::verify(twice, op::reduce{0}, 3);
  BOOST_TEST(v.reason == "ends without its result");

  table<op::reduce, 3, 1> const lost{{{fold(1, memory::input, memory::work), fold(2, memory::input, memory::work)},
                                      {give(0, memory::input)},
                                      {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(lost, op::reduce{0}, 3).reason == "overwrites an accumulator that has not been sent");
}

BOOST_AUTO_TEST_CASE(a_result_before_its_time) {
  table<op::reduce, 3, 1> const early{{{{.receive = {1, memory::output, all},
                                         .how = action::fold_right,
                                         .local = memory::input,
                                         .arrives = memory::input}},
                                       {give(0, memory::input)},
                                       {}}};
  BOOST_TEST(tutti::verify(early, op::reduce{0}, 3).reason == "finishes before all contributions are in");
}

BOOST_AUTO_TEST_CASE(a_contribution_where_an_accumulator_belongs) {
  table<op::reduce, 2, 1> const stored{
      {{{.receive = {1, memory::work, all}, .arrives = memory::input}}, {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(stored, op::reduce{0}, 2).reason == "copies into a memory that holds something else");
}

// What arrives is stored as it comes: only folds, and steps of one rank alone, make results of accumulators.
BOOST_AUTO_TEST_CASE(an_accumulator_where_a_result_belongs) {
  const step collect{
      .receive = {1, memory::work, all}, .how = action::fold_right, .local = memory::input, .arrives = memory::input};
  const step finish = tutti::detail::keep_own(0, memory::work, memory::output);
  table<op::allreduce, 2, 1, true> const unfinished{
      {{collect, give(1, memory::work), finish}, {give(0, memory::input), take(0, memory::work)}}};
  BOOST_TEST(tutti::verify(unfinished, op::allreduce{}, 2).reason == "copies into a memory that holds something else");

  table<op::allreduce, 2, 1, true> const all_finish{
      {{collect, give(1, memory::work), finish},
       {give(0, memory::input), {.receive = {0, memory::work, all}, .arrives = memory::work}, finish}}};
  BOOST_TEST(bool(tutti::verify(all_finish, op::allreduce{}, 2)));
}

/// A schedule whose vector is cut into another number of blocks.
template <class Base>
struct cut : Base {
  static constexpr std::string_view name = "cut";
  std::int32_t more;

  template <class Op>
  std::uint32_t blocks(Op const& o, rank_type n) const {
    return Base::blocks(o, n) + static_cast<std::uint32_t>(more);
  }
};

// The engine cuts vectors where the operation says that they are cut.
BOOST_AUTO_TEST_CASE(blocks_that_belong_to_no_rank) {
  auto const refused = [](auto op, rank_type n, std::int32_t more) {
    BOOST_TEST(tutti::verify(cut<tutti::star>{{}, more}, op, n).reason.starts_with("cuts the vector into"));
  };
  for (rank_type n = 1; n <= 4; ++n) {
    for (std::int32_t const more : {-1, 1}) {
      refused(op::reduce_scatter{}, n, more);
      refused(op::allgather{}, n, more);
      refused(op::gather{0}, n, more);
      refused(op::scatter{0}, n, more);
    }
    refused(op::broadcast{0}, n, -1);
    BOOST_TEST(bool(tutti::verify(cut<tutti::star>{{}, 0}, op::scatter{0}, n)));
  }
}

BOOST_AUTO_TEST_CASE(a_message_that_is_not_taken) {
  table<op::broadcast, 2, 1> const twice{{{give(1, memory::input), give(1, memory::input)}, {take(0, memory::input)}}};
  BOOST_TEST(tutti::verify(twice, op::broadcast{0}, 2).reason == "is sent a message that it does not receive");
}

BOOST_AUTO_TEST_CASE(a_result_where_there_is_no_room) {
  // The root of a broadcast has no output, and gather's inner ranks have none.
  table<op::broadcast, 2, 1> const copied{
      {{tutti::detail::keep_own(0), give(1, memory::output)}, {take(0, memory::output)}}};
  BOOST_TEST(tutti::verify(copied, op::broadcast{0}, 2).reason == "writes a block of output that it has no room for");
}

BOOST_AUTO_TEST_CASE(an_accumulator_that_is_not_there) {
  table<op::reduce, 2, 1> const empty{{{{.receive = {1, memory::output, all},
                                         .how = action::fold_right,
                                         .local = memory::work,
                                         .arrives = memory::input}},
                                       {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(empty, op::reduce{0}, 2).reason == "reads work that it does not have");
}

/// A topology that declares more than is true.
template <class Base, bool Order, bool Raw>
struct boasting : Base {
  static constexpr bool keeps_order = Order;
  static constexpr bool sends_raw_contributions = Raw;
};

BOOST_AUTO_TEST_CASE(declarations_are_checked) {
  BOOST_TEST(bool(tutti::verify(boasting<tutti::ring, false, false>{}, op::allreduce{}, 5)));
  BOOST_TEST(tutti::verify(boasting<tutti::ring, true, false>{}, op::allreduce{}, 5).reason ==
             "combines out of rank order");
  BOOST_TEST(tutti::verify(boasting<tutti::ring, false, true>{}, op::allreduce{}, 5).reason == "sends partial sums");
  BOOST_TEST(bool(tutti::verify(boasting<tutti::star, true, true>{}, op::allreduce{}, 5)));
  BOOST_TEST(bool(tutti::verify(boasting<tutti::doubling, true, false>{}, op::allreduce{}, 5)));
}

}  // namespace
