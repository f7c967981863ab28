// SPDX-License-Identifier: Apache-2.0
// test: plain (descriptors run out: the undefined behaviour sanitizer would take every object for none)
#include <tutti/collective/allreduce.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace {

using tutti::rank_type;
using tutti::detail::process_rendezvous;
using tutti::detail::run_processes;

using transports = std::tuple<tutti::shared_memory, tutti::tcp, tutti::by_locality<tutti::shared_memory, tutti::tcp>>;

/// Lets this process open only `left` more descriptors.
void leave_descriptors(rlim_t left) {
  int const next = ::dup(0);
  ::close(next);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(next) + left;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A rank has only a few descriptors left, from none on. Then all ranks work, or all are told that it lacks
/// descriptors, at every point where joining or connecting may fail. Rank 0 makes more descriptors than others.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_without_descriptors_is_named, Transport, transports) {
  for (rank_type const starved_rank : {0U, 1U}) {
    std::set<std::string> outcomes;
    for (rlim_t left = 0; left < 14; ++left) {
      auto const results = run_processes(
          3,
          [&](process_rendezvous& meet) -> std::string {
            if (meet.rank() == starved_rank) {
              leave_descriptors(left);
            }
            try {
              tutti::world_options<Transport> o;
              o.deadline = std::chrono::seconds(20);
              tutti::communicator<Transport> world(meet, o);
              std::vector<int> v(1000, 1);
              tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(v);
              return v[0] == 3 ? "a sum" : "a wrong sum";
            } catch (tutti::error const& e) {
              bool const has_advice = std::string_view(e.what()).find("(ulimit -n)") != std::string_view::npos;
              return has_advice && e.at_fault() == std::vector<rank_type>{starved_rank} ? "told" : e.what();
            }
          },
          std::chrono::seconds(20));
      std::set<std::string> answers;
      for (auto const& end : results) {
        answers.insert(end ? end.value() : end.failure().text);
      }
      BOOST_TEST(answers.size() == 1U,
                 left << " descriptors of rank " << starved_rank << ": not the same on all ranks");
      for (std::string const& text : answers) {
        BOOST_TEST((text == "a sum" || text == "told"),
                   left << " descriptors of rank " << starved_rank << ": " << text);
      }
      BOOST_TEST_MESSAGE(left << " descriptors of rank " << starved_rank << ": " << *answers.begin());
      outcomes.insert(answers.begin(), answers.end());
    }
    BOOST_TEST(outcomes.size() == 2U, "the limits are no test of this transport");
  }
}

/// Rank 2 of the world, rank 0 of the part to be, has only a few descriptors left. Then the part is made, or the error
/// has the numbers of ranks in the world, as there is no part.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_part_that_cannot_be_made_has_no_numbers, Transport, transports) {
  std::set<std::string> outcomes;
  for (rlim_t left = 0; left < 8; ++left) {
    auto const results = run_processes(
        3,
        [&](process_rendezvous& meet) -> std::string {
          tutti::world_options<Transport> o;
          o.deadline = std::chrono::seconds(20);
          tutti::communicator<Transport> world(meet, o);
          std::vector<int> v(1000, 1);
          tutti::allreduce{world, tutti::doubling{}, tutti::sum<int>{}}(v);
          tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(v);  // each two ranks have talked
          if (world.rank() == 2) {
            leave_descriptors(left);
          }
          try {
            auto const part = tutti::split(world, world.rank() == 0 ? tutti::no_part : 0, -std::int64_t{world.rank()});
            return "a part";
          } catch (tutti::error const& e) {
            std::string_view const text = e.what();
            bool const has_advice = text.find("rank 2") != std::string_view::npos &&
                                    text.find("rank 0:") == std::string_view::npos &&
                                    text.find("(ulimit -n)") != std::string_view::npos;
            bool const names_rank =
                e.communicator() == "world" && e.self() == world.rank() && e.at_fault() == std::vector<rank_type>{2};
            return has_advice && names_rank ? "told" : e.what();
          }
        },
        std::chrono::seconds(20));
    for (rank_type r = 1; r < 3; ++r) {
      std::string const answer = results[r] ? results[r].value() : results[r].failure().text;
      BOOST_TEST((answer == "a part" || answer == "told"), left << " descriptors, rank " << r << ": " << answer);
      outcomes.insert(answer);
    }
  }
  BOOST_TEST(outcomes.size() == 2U, "the limits are no test of this transport");
}

}  // namespace
