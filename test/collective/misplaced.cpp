// SPDX-License-Identifier: Apache-2.0
// test: address (what it tries is refused before ranks meet)
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/verify.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

// Unverified schedules that leave a memory with values that do not belong there.

namespace {

using tutti::action;
using tutti::block_range;
using tutti::memory;
using tutti::no_rank;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

enum class mistake { none, work_to_output, output_to_work, input_to_output, result_combined };

/// Rank 0 adds the vector of rank 1, and returns the sum; one step of one rank is wrong.
template <mistake Mistake>
struct sloppy {
  static constexpr std::string_view name = "sloppy";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = false;
  static constexpr block_range whole_vector{0, 1};

  static constexpr step give(rank_type receiver, memory source) { return {.send = {receiver, source, whole_vector}}; }
  static constexpr step take(rank_type sender, memory destination, memory arrives) {
    return {.receive = {sender, destination, whole_vector}, .sender_memory = arrives};
  }
  static constexpr step add(rank_type sender, memory destination, memory arrives) {
    return {.receive = {sender, destination, whole_vector},
            .action = action::fold_right,
            .local_memory = memory::input,
            .sender_memory = arrives};
  }
  static constexpr step move(memory source, memory destination) {
    return {{no_rank, source, whole_vector}, {no_rank, destination, whole_vector}};
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type, rank_type) const { return 3; }
  [[nodiscard]] constexpr step at(op::allreduce, rank_type, rank_type me, std::uint32_t i) const {
    constexpr step rest = move(memory::output, memory::output);  // no effect
    bool const accumulates = Mistake == mistake::work_to_output;
    memory const travels = accumulates ? memory::work : memory::output;
    if (me == 0) {
      step const first =
          Mistake == mistake::input_to_output ? take(1, memory::output, memory::input) : add(1, travels, memory::input);
      return i == 0 ? first : i == 1 ? give(1, travels) : accumulates ? move(memory::work, memory::output) : rest;
    }
    step const second = Mistake == mistake::output_to_work    ? take(0, memory::work, memory::output)
                        : Mistake == mistake::result_combined ? add(0, memory::output, memory::output)
                                                              : take(0, memory::output, travels);
    return i == 0                               ? give(0, memory::input)
           : i == 1                             ? second
           : Mistake == mistake::output_to_work ? move(memory::work, memory::output)
                                                : rest;
  }
};

template <mistake Mistake, class Reduction>
std::vector<tutti::outcome<float>> run(Reduction reduction) {
  return tutti::spawn<tutti::loopback>(2, [&](auto& world) {
    std::vector<float> const input(4, world.rank() == 0 ? 2.0F : 4.0F);
    std::vector<float> output(4);
    tutti::allreduce{world, sloppy<Mistake>{}, reduction}(input, output);
    return output[3];
  });
}

/// A mean holds something else in each memory: the rank with the wrong step refuses it, and names it.
template <mistake Mistake>
void is_refused(rank_type culprit, std::uint32_t step, std::string const& because) {
  BOOST_TEST(!tutti::verify(sloppy<Mistake>{}, op::allreduce{}, 2));
  auto const ends = run<Mistake>(tutti::mean<float>{});
  BOOST_REQUIRE(!ends[culprit].has_value());
  std::string const& text = ends[culprit].failure().text;
  std::string const place = "step " + std::to_string(step) + ", on rank " + std::to_string(culprit) + " (";
  for (std::string const& words : {std::string("allreduce(mean float32 x 4, sloppy)"), place, because}) {
    BOOST_TEST(text.find(words) != text.npos, "'" << text << "' lacks '" << words << "'");
  }
  auto const& other = ends[1 - culprit];  // this rank may have finished
  BOOST_TEST((other.has_value() || other.failure().kind == tutti::failure::cancelled));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_schedule_is_right_but_for_that) {
  for (auto const& end : run<mistake::none>(tutti::mean<float>{})) {
    BOOST_TEST(end.value() == 3.0F);
  }
}

BOOST_AUTO_TEST_CASE(what_lands_in_another_memory_than_its_own_is_refused) {
  is_refused<mistake::work_to_output>(1, 1, "copies into a memory that holds something else");
  is_refused<mistake::output_to_work>(1, 1, "copies into a memory that holds something else");
  is_refused<mistake::input_to_output>(0, 0, "copies into a memory that holds something else");
  is_refused<mistake::result_combined>(1, 1, "combines what is not to be combined");
}

/// A sum holds the same in all memories: the engine checks nothing, and the result is right.
BOOST_AUTO_TEST_CASE(sums_pay_nothing_for_that) {
  static_assert(!tutti::detail::combining<tutti::sum<float>>::memories_differ);
  for (auto const& end : run<mistake::work_to_output>(tutti::sum<float>{})) {
    BOOST_TEST(end.value() == 6.0F);
  }
}
