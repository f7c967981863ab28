// SPDX-License-Identifier: Apache-2.0
// test: plain (texts, and each operator once)
#include <support/worlds.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/launcher.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/reduction/location.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

using namespace tutti::detail;

template <class F>
std::string refusal(F const& f) {
  try {
    f();
  } catch (tutti::precondition_error const& e) {
    return e.what();
  }
  return "";
}

BOOST_AUTO_TEST_CASE(a_root_below_the_size_is_fine) {
  BOOST_TEST(refusal([] { expect_root("reduce", 3, 4); }) == "");
  BOOST_TEST(refusal([] { expect_root("reduce", 4, 4); }) ==
             "reduce: the root must be a rank of this communicator, below 4, not 4");
}

BOOST_AUTO_TEST_CASE(a_peer_is_another_rank) {
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 1, 0, 2); }) == "");
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 0, 0, 2); }) ==
             "send: the receiver must be a rank of this communicator other than this one, 0, and below 2, not 0");
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 7, 0, 2); }).ends_with("below 2, not 7"));
}

BOOST_AUTO_TEST_CASE(lengths_are_said_with_what_they_must_be) {
  BOOST_TEST(refusal([] { expect_size("allreduce: the output, like the input,", 8, 8); }) == "");
  BOOST_TEST(refusal([] { expect_size("allreduce: the output, like the input,", 12, 8); }) ==
             "allreduce: the output, like the input, must have 8 elements, not 12");
}

/// Blocks of 10 elements among 3 ranks, without the total.
BOOST_AUTO_TEST_CASE(uneven_blocks_without_their_total_are_told_of_it) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    std::vector<int> block(tutti::block_size(10, world.size(), world.rank()));
    std::vector<int> whole(10);
    tutti::gather collect{world, tutti::binary_tree{}};
    tutti::scatter deal{world, tutti::binary_tree{}};
    if (world.rank() != 0) {
      return std::string();
    }
    std::string const gather_text = refusal([&] { collect(block, whole, 0); });
    std::string const scatter_text = refusal([&] { deal(whole, block, 0); });
    bool const is_right =
        gather_text ==
            "gather: the output of the root, for the elements of all ranks together, must have 12 "
            "elements, not 10; if ranks give different numbers, pass their sum or a tutti::partition as the last "
            "argument" &&
        scatter_text ==
            "scatter: the input of the root, the elements of all ranks together, must have 12 elements, "
            "not 10; if ranks get different numbers, pass their sum or a tutti::partition as the last argument";
    return is_right ? std::string() : gather_text + "\n" + scatter_text;
  });
}

/// An alltoall that sends what is in `work`.
struct through_work : tutti::direct {
  static constexpr std::string_view name = "through_work";
  using direct::blocks;
  using direct::steps;
  [[nodiscard]] constexpr tutti::step at(tutti::op::alltoall o, tutti::rank_type n, tutti::rank_type me,
                                         std::uint32_t i) const {
    tutti::step s = direct::at(o, n, me, i);
    s.send.memory = tutti::memory::work;
    return s;
  }
};

BOOST_AUTO_TEST_CASE(lengths_of_pairs_fit_buffers_ranks_and_topology) {
  support::agree<tutti::loopback>(1, [](auto& world) {
    tutti::alltoall swap{world, tutti::direct{}};
    tutti::partition const pairs{2};
    std::vector<int> input(2);
    std::vector<int> output(2);
    std::vector<int> longer(3);
    std::string complaints;
    auto const expect = [&](std::string const& text, auto const& call) {
      if (std::string const actual = refusal(call); !actual.starts_with(text) || text.empty() != actual.empty()) {
        complaints += actual + "\n";
      }
    };
    expect("", [&] { swap(input, output, pairs, pairs); });
    expect("alltoall: the partition has 2 blocks", [&] { swap(input, output, pairs, tutti::partition{1, 1}); });
    expect("alltoall: the partition has 2 blocks", [&] {
      std::ignore = swap.exchange_uneven(input, tutti::partition{1, 1});
    });
    expect("alltoall: the input, all blocks of the first partition, must have 2 elements, not 3",
           [&] { swap(longer, output, pairs, pairs); });
    expect("alltoall: the input, all blocks of the first partition, must have 2 elements, not 3",
           [&] { std::ignore = swap.exchange_uneven(longer, pairs); });
    expect("alltoall: the output, all blocks of the second partition, must have 2 elements, not 3",
           [&] { swap(input, longer, pairs, pairs); });
    expect("alltoall: rank 0 sends itself a block of 2 elements, but expects 3",
           [&] { swap(input, longer, pairs, tutti::partition{3}); });
    expect("alltoall: input and output overlap", [&] { swap(input, input, pairs, pairs); });
    try {
      tutti::alltoall{world, through_work{}}(input, output, pairs, pairs);
    } catch (std::exception const& e) {
      bool const is_told = std::string(e.what()).find("through_work forwards them; take direct") != std::string::npos;
      return is_told ? complaints : e.what();
    }
    return complaints + "through_work is not refused";
  });
}

BOOST_AUTO_TEST_CASE(a_part_that_is_no_block_blames_neither) {
  auto const text = [](std::size_t size) {
    return refusal([&] { expect_block("allgather: the input", "the output has all", size, 10, 4, 1); });
  };
  BOOST_TEST(text(3) == "");
  BOOST_TEST(
      text(2) ==
      "allgather: the input has 2 elements, but rank 1's block of 10 in 4 blocks has 3 (tutti::block_size); change "
      "one of the two: the output has all");
}

/// Law: call(input, output) gives for one number, or one object of the reduction's type, the result for a vector of it.
template <class Value, class Call>
void add_complaint(std::string& complaints, char const* operation, Value value, Call call) {
  std::vector<Value> input{value};
  std::vector<Value> output{value};
  Value single_input = value;
  Value single_output = value;
  call(input, output);
  call(single_input, single_output);
  if (std::memcmp(&single_input, input.data(), sizeof(Value)) != 0 ||
      std::memcmp(&single_output, output.data(), sizeof(Value)) != 0) {
    complaints += operation;
  }
}

BOOST_AUTO_TEST_CASE(one_number_is_a_vector_of_one) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    std::string complaints;
    auto const me = static_cast<int>(world.rank());
    tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<int>{}};
    add_complaint(complaints, "allreduce", me + 1, [&](auto& input, auto& output) {
      sum(input, output);
      sum(input);
      sum.start(input, output).wait();
      sum.start(input).wait();
    });
    using location = tutti::indexed_value<float>;
    tutti::allreduce best{world, tutti::doubling{}, tutti::min_location<float>{}};
    add_complaint(complaints, "allreduce of objects", location{-static_cast<float>(me), world.rank()},
                  [&](auto& input, auto& output) {
                    best(input, output);
                    best.start(input).wait();
                  });
    tutti::reduce total{world, tutti::star{}, tutti::sum<int>{}};
    add_complaint(complaints, "reduce", me + 1, [&](auto& input, auto& output) {
      total(input, output, 1);
      total(input, 1);
      total.start(input, output, 1).wait();
      total.start(input, 1).wait();
    });
    tutti::scan running{world, tutti::chain{}, tutti::sum<int>{}};
    tutti::exscan offset{world, tutti::chain{}, tutti::sum<int>{}};
    add_complaint(complaints, "scan and exscan", me + 1, [&](auto& input, auto& output) {
      running(input, output);
      running(input);
      running.start(input).wait();
      offset(input, output);
      offset(input);
      offset.start(input, output).wait();
    });
    tutti::broadcast tell{world, tutti::star{}};
    add_complaint(complaints, "broadcast", me + 1, [&](auto& input, auto& output) {
      tell(input, 2);
      tell.start(output, 2).wait();
    });
    tutti::allgather join{world, tutti::star{}};
    add_complaint(complaints, "allgather", me + 1, [&](auto& input, auto& output) {
      std::vector<int> parts(3);
      join(input, parts);
      join.start(input, parts).wait();
      int sum_of_all = 0;
      for (int const x : parts) {
        sum_of_all = 10 * sum_of_all + x;
      }
      tutti::elements(output)[0] = sum_of_all;
    });
    tutti::gather collect{world, tutti::star{}};
    tutti::scatter deal{world, tutti::star{}};
    add_complaint(complaints, "gather and scatter", location{1.0F, world.rank()}, [&](auto& input, auto& output) {
      std::vector<location> parts(3);
      collect(input, parts, 0);
      collect.start(input, parts, 0).wait();
      deal(parts, output, 0);
      deal.start(parts, output, 0).wait();
    });
    auto part = tutti::split(world, world.rank());
    tutti::alltoall swap{part, tutti::direct{}};
    tutti::reduce_scatter share{part, tutti::direct{}, tutti::sum<int>{}};
    add_complaint(complaints, "alltoall and reduce_scatter", me + 1, [&](auto& input, auto& output) {
      swap(input, output);
      swap.start(input, output).wait();
      share(input, output);
      share.start(input, output).wait();
    });
    tutti::send give{world};
    tutti::recv take{world};
    add_complaint(complaints, "send and recv", 2.5 + me, [&](auto& input, auto& output) {
      auto pending = give.start(input, (world.rank() + 1) % 3);
      take(output, (world.rank() + 2) % 3);
      pending.wait();
    });
    return complaints;
  });
}

}  // namespace
