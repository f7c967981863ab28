// SPDX-License-Identifier: Apache-2.0
// test: plain (descriptors run out: the undefined behaviour sanitizer would take every object for none)
#include <tutti/collective/allreduce.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

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

/// Rank 1 has only so many descriptors left, from none on: all ranks work, or all are told that it lacks descriptors,
/// wherever it fails while they join or make connections.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_without_descriptors_is_named, Transport, transports) {
  std::set<std::string> seen;
  for (rlim_t left = 0; left < 14; ++left) {
    auto const results = run_processes(
        3,
        [&](process_rendezvous& meet) -> std::string {
          if (meet.rank() == 1) {
            int const next = ::dup(0);
            ::close(next);
            rlimit few{};
            ::getrlimit(RLIMIT_NOFILE, &few);
            few.rlim_cur = static_cast<rlim_t>(next) + left;
            ::setrlimit(RLIMIT_NOFILE, &few);
          }
          try {
            tutti::world_options<Transport> o;
            o.deadline = std::chrono::seconds(20);
            tutti::communicator<Transport> world(meet, o);
            std::vector<int> v(1000, 1);
            tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(v);
            return v[0] == 3 ? "a sum" : "a wrong sum";
          } catch (tutti::error const& e) {
            bool const says = std::string_view(e.what()).find("(ulimit -n)") != std::string_view::npos;
            return says && e.at_fault() == std::vector<rank_type>{1} ? "told" : e.what();
          }
        },
        std::chrono::seconds(20));
    std::set<std::string> said;
    for (auto const& end : results) {
      said.insert(end ? end.value() : end.failure().text);
    }
    BOOST_TEST(said.size() == 1U, left << " descriptors: not the same on all ranks");
    for (std::string const& what : said) {
      BOOST_TEST((what == "a sum" || what == "told"), left << " descriptors: " << what);
    }
    BOOST_TEST_MESSAGE(left << " descriptors: " << *said.begin());
    seen.insert(said.begin(), said.end());
  }
  BOOST_TEST(seen.size() == 2U, "the limits are no test of this transport");
}

}  // namespace
