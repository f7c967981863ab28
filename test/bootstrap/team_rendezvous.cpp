// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/detail/bootstrap/threads.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <string>
#include <vector>

using tutti::rank_type;
using tutti::detail::process_rendezvous;
using tutti::detail::thread_rendezvous;

namespace {

/// The texts received by the threads of each process, process by process; process p has threads[p] threads.
std::vector<tutti::outcome<std::string>> collect_texts(std::vector<rank_type> const& threads) {
  return tutti::detail::run_processes(static_cast<rank_type>(threads.size()), [&](process_rendezvous& processes) {
    std::string result;
    for (auto const& end : tutti::detail::run_threads(threads[processes.rank()], [&](thread_rendezvous& seat) {
           tutti::detail::team_rendezvous meet(seat, processes);
           std::string text;
           for (int round = 0; round < 2; ++round) {
             for (auto const& word : meet.exchange(std::to_string(meet.rank()) + "/" + std::to_string(meet.size()))) {
               text += word + " ";
             }
           }
           return text;
         })) {
      result += (end ? end.value() : end.failure().text) + "; ";
    }
    return result;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_of_processes_meet_in_rank_order) {
  for (std::vector<rank_type> const& threads : {std::vector<rank_type>{1}, {3}, {1, 1}, {2, 2}, {3, 1, 2}, {1, 4}}) {
    auto const size = std::accumulate(threads.begin(), threads.end(), rank_type{0});
    std::string once;
    for (rank_type r = 0; r < size; ++r) {
      once += std::to_string(r) + "/" + std::to_string(size) + " ";
    }
    auto const results = collect_texts(threads);
    for (std::size_t p = 0; p < threads.size(); ++p) {
      std::string expected;
      for (rank_type t = 0; t < threads[p]; ++t) {
        expected += once + once + "; ";
      }
      BOOST_TEST(results[p].value() == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_does_not_come_is_named_on_every_thread) {
  auto const ends = tutti::detail::run_processes(2, [](process_rendezvous& processes) {
    if (processes.rank() == 1) {
      throw std::runtime_error("not today");
    }
    std::string result;
    for (auto const& end : tutti::detail::run_threads(
             3, [&](thread_rendezvous& seat) { tutti::detail::team_rendezvous const meet(seat, processes); })) {
      result += end ? "came together; " : end.failure().text + "; ";
    }
    return result;
  });
  std::string const text = ends[0].value();
  std::size_t count = 0;
  for (auto position = text.find("not today"); position != std::string::npos;
       position = text.find("not today", position + 1)) {
    ++count;
  }
  BOOST_TEST(count == 3, text);
}
