// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operator_cases.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/scan.hpp>
#include <tutti/reduction/logical.hpp>

#include <span>
#include <string>
#include <vector>

namespace {

template <class Transport, class R>
void equals_the_sequential_answer(R reduction, std::size_t longest) {
  laws::over_all_topologies<Transport>(
      [&](auto& world, auto topology) { return laws::scans(world, topology, reduction, longest); });
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_equal_the_sequential_answer, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(tutti::sum<float>{}, 4099);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(accumulators_need_not_be_elements, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(laws::wide_mean{}, 64);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(what_does_not_commute_keeps_rank_order, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(laws::composition{}, 1023);
}

// Elements that are lifted or lowered in the user's own memory: rank 0 of an exscan must lift elsewhere.
BOOST_AUTO_TEST_CASE(elements_are_converted_in_place) {
  equals_the_sequential_answer<tutti::loopback>(tutti::mean<float>{}, 64);
  equals_the_sequential_answer<tutti::loopback>(tutti::logical_xor<int>{}, 64);
}

BOOST_AUTO_TEST_CASE(only_rank_0_of_an_exscan_may_lack_an_output) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    auto const refusal = [](auto&& call) {
      try {
        call();
      } catch (tutti::precondition_error const& e) {
        return std::string(e.what());
      }
      return std::string("not refused");
    };
    tutti::scan running{world, tutti::chain{}, tutti::sum<int>{}};
    tutti::exscan offset{world, tutti::chain{}, tutti::sum<int>{}};
    std::vector<int> v(10, 1);
    std::vector<int> offsets(world.rank() == 0 ? 0 : 10);
    offset(v, offsets);
    if (offsets != std::vector<int>(offsets.size(), static_cast<int>(world.rank()))) {
      return std::string("the offsets are wrong");
    }
    std::string const scan_text = refusal([&] { running(v, std::span(v).first(9)); });
    std::string const exscan_text =
        world.rank() == 0 ? "" : refusal([&] { offset.start(std::span(v).first(9), std::span(v).last(9)).wait(); });
    bool const is_right =
        scan_text == "scan: the output, like the input, must have 10 elements, not 9" &&
        (world.rank() == 0 ||
         exscan_text == "exscan: input and output overlap; use the same memory for both, or separate memory");
    return is_right ? std::string() : scan_text + "\n" + exscan_text;
  });
}
