// SPDX-License-Identifier: Apache-2.0
// test: address
//
// Ranks agree on their devices, or all get the error of the first rank without one.
#include <tutti/cuda/detail/device/agreement.hpp>
#include <tutti/detail/bootstrap/threads.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace device = tutti::detail::device;
using tutti::rank_type;

/// Each rank's error, or the texts that the ranks exchanged. Rank `failing` throws instead of sending a text.
std::vector<std::string> exchange_texts(rank_type size, rank_type failing) {
  std::vector<std::string> rank_texts;
  for (auto const& result :
       tutti::detail::run_threads(size, [&](tutti::detail::thread_rendezvous& meet) -> std::string {
         try {
           std::string text;
           for (std::string const& rank_text : device::agree("a transport", meet, [&] {
                  return meet.rank() == failing ? throw std::runtime_error("no device here")
                                                : "<" + std::to_string(meet.rank()) + ">";
                })) {
             text += rank_text;
           }
           return text;
         } catch (tutti::error const& e) {
           bool const is_named = e.kind() == tutti::failure::join && e.at_fault() == std::vector{failing};
           return (is_named ? "" : "another rank is named: ") + std::string(e.what());
         }
       })) {
    rank_texts.push_back(result.value());
  }
  return rank_texts;
}

struct three_devices {
  static int devices() { return 3; }
};
struct no_devices {
  static int devices() { return 0; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(all_hear_what_all_say) {
  for (std::string const& text : exchange_texts(3, tutti::no_rank)) {
    BOOST_TEST(text == "<0><1><2>");
  }
}

BOOST_AUTO_TEST_CASE(all_get_the_error_of_a_rank) {
  for (std::string const& text : exchange_texts(3, 1)) {
    BOOST_TEST(text == "a transport: rank 1: no device here");
  }
}

BOOST_AUTO_TEST_CASE(ranks_take_devices_in_turns_or_as_asked) {
  BOOST_TEST(device::device_for<three_devices>(4, -1) == 1);
  BOOST_TEST(device::device_for<three_devices>(4, 2) == 2);
  BOOST_CHECK_THROW((void)device::device_for<three_devices>(0, 3), tutti::precondition_error);
  BOOST_CHECK_THROW((void)device::device_for<no_devices>(0, -1), tutti::precondition_error);
}
