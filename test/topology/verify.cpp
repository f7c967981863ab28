// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/detail/verify/symbolic_run.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

// Wrong schedules, and the reasons for which the verifier refuses them.

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

/// A schedule for one number of ranks, step by step.
template <class Op, rank_type N, std::uint32_t Blocks, bool Order = false>
struct table {
  static constexpr std::string_view name = "table";
  static constexpr bool keeps_rank_order = Order;
  static constexpr bool sends_raw_contributions = false;

  std::vector<step> ranks[N];

  constexpr std::uint32_t blocks(Op, rank_type) const { return Blocks; }
  constexpr std::uint32_t steps(Op, rank_type, rank_type me) const {
    return static_cast<std::uint32_t>(ranks[me].size());
  }
  constexpr step at(Op, rank_type, rank_type me, std::uint32_t i) const { return ranks[me][i]; }
};

constexpr block_range whole{0, 1};

constexpr step give(rank_type target, memory source) {
  return {.send = {target, source, whole}};
}
constexpr step take(rank_type source, memory arrives) {
  return {.receive = {source, memory::output, whole}, .sender_memory = arrives};
}

BOOST_AUTO_TEST_CASE(each_waits_for_the_other) {
  // All ranks receive before they send, so buffers do not help.
  table<op::allreduce, 2, 1> const t{{{{.receive = {1, memory::output, whole},
                                        .action = action::fold_right,
                                        .local_memory = memory::input,
                                        .sender_memory = memory::input},
                                       give(1, memory::input)},
                                      {{.receive = {0, memory::output, whole},
                                        .action = action::fold_left,
                                        .local_memory = memory::input,
                                        .sender_memory = memory::input},
                                       give(0, memory::input)}}};
  auto const v = tutti::verify(t, op::allreduce{}, 2);
  BOOST_TEST(!v.finishes);
  BOOST_TEST(v.reason == "waits for a message that is never sent");
}

BOOST_AUTO_TEST_CASE(all_send_first) {
  // All ranks send before they receive, which is correct only with buffers.
  const step fold_right{.receive = {1, memory::output, whole},
                        .action = action::fold_right,
                        .local_memory = memory::input,
                        .sender_memory = memory::input};
  const step fold_left{.receive = {0, memory::output, whole},
                       .action = action::fold_left,
                       .local_memory = memory::input,
                       .sender_memory = memory::input};
  table<op::allreduce, 2, 1> const t{{{give(1, memory::input), fold_right}, {give(0, memory::input), fold_left}}};
  auto const v = tutti::verify(t, op::allreduce{}, 2);
  BOOST_TEST((!v.finishes && v.exact && v.ends_match));
  BOOST_TEST(v.reason == "waits for ever if there are no buffers");

  step both_right = fold_right;
  both_right.send = give(1, memory::input).send;
  step both_left = fold_left;
  both_left.send = give(0, memory::input).send;
  table<op::allreduce, 2, 1> const exchange{{{both_right}, {both_left}}};
  BOOST_TEST(bool(tutti::verify(exchange, op::allreduce{}, 2)));
}

// Rank 0 receives from rank 1, the root, sends to rank 2, and receives once more.
BOOST_AUTO_TEST_CASE(a_write_that_can_overtake_a_reader) {
  table<op::broadcast, 3, 1> const hasty{
      {{take(1, memory::input), give(2, memory::output), take(1, memory::input)},
       {give(0, memory::input), give(0, memory::input)},  // does not know that rank 2 has read
       {take(0, memory::output)}}};
  auto const v = tutti::verify(hasty, op::broadcast{1}, 3);
  BOOST_TEST((bool(v) && !v.has_no_write_after_read));

  table<op::broadcast, 3, 1> const patient{
      {{take(1, memory::input), give(2, memory::output), take(2, memory::output)},
       {give(0, memory::input)},
       {take(0, memory::output), give(0, memory::output)}}};  // rank 2, the reader, sends
  auto const w = tutti::verify(patient, op::broadcast{1}, 3);
  BOOST_TEST((bool(w) && w.has_no_write_after_read));
}

// Rank 3 sends to rank 2, then receives from rank 0 without knowing that rank 2 has read, however the ranks happen to
// run.
BOOST_AUTO_TEST_CASE(a_reader_that_happens_to_be_early) {
  table<op::broadcast, 4, 1> const lucky{{{take(1, memory::input), give(3, memory::output)},
                                          {give(3, memory::input), give(0, memory::input)},
                                          {take(3, memory::output)},
                                          {take(1, memory::input), give(2, memory::output), take(0, memory::output)}}};
  auto const v = tutti::verify(lucky, op::broadcast{1}, 4);
  BOOST_TEST((bool(v) && !v.has_no_write_after_read));
}

// The usual alltoall. It would overwrite blocks in place that it has not sent, but an alltoall never runs in place.
struct rotation {
  static constexpr std::string_view name = "rotation";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = true;

  std::uint32_t blocks(op::alltoall, rank_type n) const { return n; }
  std::uint32_t steps(op::alltoall, rank_type n, rank_type) const { return n; }
  step at(op::alltoall, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type target = (me + i) % n;
    const rank_type source = (me + n - i) % n;
    return i == 0 ? tutti::detail::copy_own_block(me)
                  : step{.send = {target, memory::input, {target, 1}},
                         .receive = {source, memory::output, {source, 1}},
                         .sender_memory = memory::input};
  }
};

/// An alltoall that first moves two blocks to `work`, or sends them there.
struct detour : rotation {
  block_range source;
  block_range target;
  bool sends = false;

  std::uint32_t steps(op::alltoall, rank_type n, rank_type) const { return n + 1; }
  step at(op::alltoall o, rank_type n, rank_type me, std::uint32_t i) const {
    return i != 0  ? rotation::at(o, n, me, i - 1)
           : sends ? step{.send = {(me + 1) % n, memory::input, source},
                          .receive = {(me + n - 1) % n, memory::work, target},
                          .sender_memory = memory::input}
                   : step{.send = {tutti::no_rank, memory::input, source},
                          .receive = {tutti::no_rank, memory::work, target}};
  }
};

BOOST_AUTO_TEST_CASE(blocks_change_places_in_an_alltoall) {
  BOOST_TEST(bool(tutti::verify(rotation{}, op::alltoall{}, 4)));
  auto const reason = [](block_range source, block_range target, bool sends) {
    return tutti::verify(detour{{}, source, target, sends}, op::alltoall{}, 4).reason;
  };
  for (bool const sends : {false, true}) {
    std::string_view const refusal =
        sends ? "receives other blocks than were sent" : "moves blocks to others that do not match";
    BOOST_TEST(reason({0, 2}, {2, 2}, sends) == "");
    BOOST_TEST(reason({3, 2}, {3, 2}, sends) == "");
    BOOST_TEST(reason({0, 2}, {2, 1}, sends) == refusal);
    BOOST_TEST(reason({3, 2}, {0, 2}, sends) == refusal);  // the engine cuts the first range, not the second
    BOOST_TEST(reason({0, 2}, {3, 2}, sends) == refusal);
  }
}

// Rank 0 sends its contribution after the result has replaced it.
BOOST_AUTO_TEST_CASE(overwrites_in_place_what_it_has_to_send) {
  auto const finish = [](rank_type source, action side) {
    return step{.receive = {source, memory::output, whole},
                .action = side,
                .local_memory = memory::input,
                .sender_memory = memory::input};
  };
  table<op::allreduce, 2, 1> const late{{{finish(1, action::fold_right), give(1, memory::input)},
                                         {give(0, memory::input), finish(0, action::fold_left)}}};
  BOOST_TEST(tutti::verify(late, op::allreduce{}, 2).reason == "reads input that it does not have (any more)");
}

// The sum has the contribution of rank 1 twice and none of rank 2, so only its number of contributions is correct.
BOOST_AUTO_TEST_CASE(the_right_number_of_wrong_contributions) {
  auto const fold = [](rank_type source, memory local, memory target) {
    return step{.receive = {source, target, whole},
                .action = action::fold_right,
                .local_memory = local,
                .sender_memory = memory::input};
  };
  table<op::reduce, 3, 1> const twice{{{fold(1, memory::input, memory::work), fold(1, memory::work, memory::output)},
                                       {give(0, memory::input), give(0, memory::input)},
                                       {}}};
  auto const v = tutti::verify(twice, op::reduce{0}, 3);
  BOOST_TEST(v.reason == "ends without its result");

  table<op::reduce, 3, 1> const without_rank_2{
      {{fold(1, memory::input, memory::work), fold(2, memory::input, memory::work)},
       {give(0, memory::input)},
       {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(without_rank_2, op::reduce{0}, 3).reason ==
             "overwrites an accumulator that has not been sent");
}

BOOST_AUTO_TEST_CASE(a_result_before_its_time) {
  table<op::reduce, 3, 1> const early{{{{.receive = {1, memory::output, whole},
                                         .action = action::fold_right,
                                         .local_memory = memory::input,
                                         .sender_memory = memory::input}},
                                       {give(0, memory::input)},
                                       {}}};
  BOOST_TEST(tutti::verify(early, op::reduce{0}, 3).reason == "finishes before all contributions are in");
}

// The result of each rank has its own number of contributions, and exscan leaves rank 0 alone.
BOOST_AUTO_TEST_CASE(scans_that_are_wrong) {
  constexpr auto fold = [](rank_type source, action side, memory target, memory arrives) -> step {
    return {
        .receive = {source, target, whole}, .action = side, .local_memory = memory::input, .sender_memory = arrives};
  };
  constexpr step finish_own = tutti::detail::copy_own_block(0);
  constexpr auto reason_of = [](auto op, auto const& schedule) { return tutti::verify(schedule, op, 3).reason; };
  using scan = table<op::scan, 3, 1, true>;
  scan const right{{{give(1, memory::input), finish_own},
                    {fold(0, action::fold_left, memory::work, memory::input), give(2, memory::work),
                     tutti::detail::copy_own_block(0, memory::work)},
                    {fold(1, action::fold_left, memory::output, memory::work)}}};
  BOOST_TEST(reason_of(op::scan{}, right) == "");
  scan swapped_fold = right;
  swapped_fold.ranks[2][0].action = action::fold_right;
  BOOST_TEST(reason_of(op::scan{}, swapped_fold) == "combines out of rank order");
  scan const neighbours_only{{{give(1, memory::input), finish_own},
                              {give(2, memory::input), fold(0, action::fold_left, memory::output, memory::input)},
                              {fold(1, action::fold_left, memory::output, memory::input)}}};
  BOOST_TEST(reason_of(op::scan{}, neighbours_only) == "finishes before all contributions are in");
  scan const total{{{fold(1, action::fold_right, memory::output, memory::work)},
                    {fold(2, action::fold_right, memory::work, memory::input), give(0, memory::work)},
                    {give(1, memory::input)}}};
  BOOST_TEST(reason_of(op::scan{}, total) == "finishes with too many contributions");

  using exscan = table<op::exscan, 3, 1, true>;
  exscan const own_result{{{}, {finish_own}, {}}};
  BOOST_TEST(reason_of(op::exscan{}, own_result) == "ends without its result");
  exscan const first_result{{{finish_own}, {}, {}}};
  BOOST_TEST(reason_of(op::exscan{}, first_result) == "writes a block of output that it has no room for");
}

BOOST_AUTO_TEST_CASE(a_contribution_where_an_accumulator_belongs) {
  table<op::reduce, 2, 1> const plain_copy{
      {{{.receive = {1, memory::work, whole}, .sender_memory = memory::input}}, {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(plain_copy, op::reduce{0}, 2).reason == "copies into a memory that holds something else");
}

// A copy stores what arrives: only folds and local steps make results of accumulators.
BOOST_AUTO_TEST_CASE(an_accumulator_where_a_result_belongs) {
  const step collect{.receive = {1, memory::work, whole},
                     .action = action::fold_right,
                     .local_memory = memory::input,
                     .sender_memory = memory::input};
  const step finish = tutti::detail::copy_own_block(0, memory::work, memory::output);
  table<op::allreduce, 2, 1, true> const without_finish{
      {{collect, give(1, memory::work), finish}, {give(0, memory::input), take(0, memory::work)}}};
  BOOST_TEST(tutti::verify(without_finish, op::allreduce{}, 2).reason ==
             "copies into a memory that holds something else");

  table<op::allreduce, 2, 1, true> const all_finish{
      {{collect, give(1, memory::work), finish},
       {give(0, memory::input), {.receive = {0, memory::work, whole}, .sender_memory = memory::work}, finish}}};
  BOOST_TEST(bool(tutti::verify(all_finish, op::allreduce{}, 2)));
}

/// A schedule whose vector is cut into another number of blocks.
template <class Base>
struct with_other_blocks : Base {
  static constexpr std::string_view name = "cut";
  std::int32_t more;

  template <class Op>
  std::uint32_t blocks(Op const& o, rank_type n) const {
    return Base::blocks(o, n) + static_cast<std::uint32_t>(more);
  }
};

// The engine cuts the vector into one block for each rank in some operations, so the schedule must, too.
BOOST_AUTO_TEST_CASE(blocks_that_belong_to_no_rank) {
  auto const expect_refusal = [](auto op, rank_type n, std::int32_t more) {
    BOOST_TEST(
        tutti::verify(with_other_blocks<tutti::star>{{}, more}, op, n).reason.starts_with("cuts the vector into"));
  };
  for (rank_type n = 1; n <= 4; ++n) {
    for (std::int32_t const more : {-1, 1}) {
      expect_refusal(op::reduce_scatter{}, n, more);
      expect_refusal(op::allgather{}, n, more);
      expect_refusal(op::gather{0}, n, more);
      expect_refusal(op::scatter{0}, n, more);
    }
    expect_refusal(op::broadcast{0}, n, -1);
    BOOST_TEST(bool(tutti::verify(with_other_blocks<tutti::star>{{}, 0}, op::scatter{0}, n)));
  }
}

BOOST_AUTO_TEST_CASE(a_message_that_is_not_taken) {
  table<op::broadcast, 2, 1> const twice{{{give(1, memory::input), give(1, memory::input)}, {take(0, memory::input)}}};
  BOOST_TEST(tutti::verify(twice, op::broadcast{0}, 2).reason == "is sent a message that it does not receive");
}

BOOST_AUTO_TEST_CASE(a_result_where_there_is_no_room) {
  // The root of a broadcast has no output, and gather's inner ranks have none.
  table<op::broadcast, 2, 1> const local_copy{
      {{tutti::detail::copy_own_block(0), give(1, memory::output)}, {take(0, memory::output)}}};
  BOOST_TEST(tutti::verify(local_copy, op::broadcast{0}, 2).reason ==
             "writes a block of output that it has no room for");
}

BOOST_AUTO_TEST_CASE(an_accumulator_that_is_not_there) {
  table<op::reduce, 2, 1> const empty{{{{.receive = {1, memory::output, whole},
                                         .action = action::fold_right,
                                         .local_memory = memory::work,
                                         .sender_memory = memory::input}},
                                       {give(0, memory::input)}}};
  BOOST_TEST(tutti::verify(empty, op::reduce{0}, 2).reason == "reads work that it does not have");
}

/// A topology with other declarations.
template <class Base, bool Order, bool Raw>
struct boasting : Base {
  static constexpr bool keeps_rank_order = Order;
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
