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
    std::vector<int> mine(tutti::block_size(10, world.size(), world.rank()));
    std::vector<int> all(10);
    tutti::gather collect{world, tutti::binary_tree{}};
    tutti::scatter deal{world, tutti::binary_tree{}};
    if (world.rank() != 0) {
      return std::string();
    }
    std::string const of_gather = refusal([&] { collect(mine, all, 0); });
    std::string const of_scatter = refusal([&] { deal(all, mine, 0); });
    bool const right =
        of_gather ==
            "gather: the output of the root, for the elements of all ranks together, must have 12 "
            "elements, not 10; if ranks give different numbers, pass their sum as the last argument, `total`" &&
        of_scatter ==
            "scatter: the input of the root, the elements of all ranks together, must have 12 elements, "
            "not 10; if ranks get different numbers, pass their sum as the last argument, `total`";
    return right ? std::string() : of_gather + "\n" + of_scatter;
  });
}

BOOST_AUTO_TEST_CASE(a_part_that_is_no_block_blames_neither) {
  auto const text = [](std::size_t found) {
    return refusal([&] { expect_block("allgather: the input", "the output has all", found, 10, 4, 1); });
  };
  BOOST_TEST(text(3) == "");
  BOOST_TEST(
      text(2) ==
      "allgather: the input has 2 elements, but rank 1's block of 10 in 4 blocks has 3 (tutti::block_size); change "
      "one of the two: the output has all");
}

/// Law: call(in, out) gives for one number, or one object of the reduction's type, the result for a vector of it.
template <class Value, class Call>
void adds_complaint(std::string& all, char const* what, Value mine, Call call) {
  std::vector<Value> in{mine};
  std::vector<Value> out{mine};
  Value one_in = mine;
  Value one_out = mine;
  call(in, out);
  call(one_in, one_out);
  if (std::memcmp(&one_in, in.data(), sizeof(Value)) != 0 || std::memcmp(&one_out, out.data(), sizeof(Value)) != 0) {
    all += what;
  }
}

BOOST_AUTO_TEST_CASE(one_number_is_a_vector_of_one) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    std::string all;
    auto const me = static_cast<int>(world.rank());
    tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<int>{}};
    adds_complaint(all, "allreduce", me + 1, [&](auto& in, auto& out) {
      sum(in, out);
      sum(in);
      sum.start(in, out).wait();
      sum.start(in).wait();
    });
    using location = tutti::indexed_value<float>;
    tutti::allreduce best{world, tutti::doubling{}, tutti::min_location<float>{}};
    adds_complaint(all, "allreduce of objects", location{-static_cast<float>(me), world.rank()},
                   [&](auto& in, auto& out) {
                     best(in, out);
                     best.start(in).wait();
                   });
    tutti::reduce total{world, tutti::star{}, tutti::sum<int>{}};
    adds_complaint(all, "reduce", me + 1, [&](auto& in, auto& out) {
      total(in, out, 1);
      total(in, 1);
      total.start(in, out, 1).wait();
      total.start(in, 1).wait();
    });
    tutti::broadcast tell{world, tutti::star{}};
    adds_complaint(all, "broadcast", me + 1, [&](auto& in, auto& out) {
      tell(in, 2);
      tell.start(out, 2).wait();
    });
    tutti::allgather join{world, tutti::star{}};
    adds_complaint(all, "allgather", me + 1, [&](auto& in, auto& out) {
      std::vector<int> joined(3);
      join(in, joined);
      join.start(in, joined).wait();
      int sum_of_all = 0;
      for (int const x : joined) {
        sum_of_all = 10 * sum_of_all + x;
      }
      tutti::elements(out)[0] = sum_of_all;
    });
    tutti::gather collect{world, tutti::star{}};
    tutti::scatter deal{world, tutti::star{}};
    adds_complaint(all, "gather and scatter", location{1.0F, world.rank()}, [&](auto& in, auto& out) {
      std::vector<location> collected(3);
      collect(in, collected, 0);
      collect.start(in, collected, 0).wait();
      deal(collected, out, 0);
      deal.start(collected, out, 0).wait();
    });
    auto alone = tutti::split(world, world.rank());
    tutti::alltoall swap{alone, tutti::direct{}};
    tutti::reduce_scatter share{alone, tutti::direct{}, tutti::sum<int>{}};
    adds_complaint(all, "alltoall and reduce_scatter", me + 1, [&](auto& in, auto& out) {
      swap(in, out);
      swap.start(in, out).wait();
      share(in, out);
      share.start(in, out).wait();
    });
    tutti::send give{world};
    tutti::recv take{world};
    adds_complaint(all, "send and recv", 2.5 + me, [&](auto& in, auto& out) {
      auto sent = give.start(in, (world.rank() + 1) % 3);
      take(out, (world.rank() + 2) % 3);
      sent.wait();
    });
    return all;
  });
}

}  // namespace
