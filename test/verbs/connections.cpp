// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
//
// Queue pairs: when they are made and freed, and the errors if one cannot be made.
// `verbs_connections -- 1000` opens 1000 worlds.
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <support/traffic.hpp>
#include <tutti/tutti.hpp>
#include <tutti/verbs/verbs.hpp>
#include <tutti/verbs/verbs_options.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace {

using tutti::rank_type;
using tutti::verbs;
using world = tutti::communicator<verbs>;
using tutti::support::process_ranks;
using tutti::support::verdict;

void check_all(std::vector<verdict> const& verdicts) {
  for (std::size_t r = 0; r < verdicts.size(); ++r) {
    BOOST_TEST(verdicts[r] == "", "rank " << r << ": " << verdicts[r]);
  }
}

/// Returns "" if a sum over all ranks is right.
template <class Topology>
verdict sum_once(world& w, Topology topology) {
  tutti::allreduce sum{w, topology, tutti::sum<float>{}};
  std::vector<float> v(1000, 1);
  sum(v);
  return v == std::vector<float>(1000, static_cast<float>(w.size())) ? "" : "the sum is wrong";
}

BOOST_AUTO_TEST_CASE(as_many_as_the_schedule_needs) {
  check_all(process_ranks::run(8, [](auto& meet) -> verdict {
    world w(meet);
    if (w.transport().connections() != 0) {
      return "there is a queue pair that no message has needed";
    }
    verdict bad = sum_once(w, tutti::ring{});
    std::size_t const of_ring = w.transport().connections();
    meet.exchange("");  // a rank that runs ahead would make its next peer connect
    bad += sum_once(w, tutti::doubling{});
    std::size_t const of_both = w.transport().connections();
    return of_ring == 2 && of_both == 4
               ? bad
               : "there are " + std::to_string(of_ring) + " and then " + std::to_string(of_both);
  }));
}

/// Counts the open descriptors of this process, and the queue pairs of all processes.
std::string open_now() {
  std::filesystem::directory_iterator const descriptors("/proc/self/fd");
  std::string text = std::to_string(std::distance(begin(descriptors), end(descriptors))) + " descriptors";
  std::FILE* const report = ::popen("rdma resource show", "r");
  char line[256];
  while (report != nullptr && std::fgets(line, sizeof line, report) != nullptr) {
    text += std::string("; ") + line;
  }
  if (report != nullptr) {
    ::pclose(report);
  }
  return text;
}

BOOST_AUTO_TEST_CASE(worlds_leave_nothing_behind) {
  auto const& arguments = boost::unit_test::framework::master_test_suite();
  int const worlds = arguments.argc > 1 ? std::atoi(arguments.argv[1]) : 50;
  check_all(process_ranks::run(2, [&](auto& meet) -> verdict {
    tutti::duration half[2] = {};
    std::string count_before;
    for (int turn = 0; turn < worlds; ++turn) {
      tutti::time_point const begin = tutti::steady_now();
      {
        world w(meet);
        if (verdict bad = sum_once(w, tutti::ring{}); !bad.empty()) {
          return bad;
        }
      }
      half[turn * 2 / worlds] += tutti::steady_now() - begin;
      if (turn == 0) {
        meet.exchange("");  // both worlds are closed
        count_before = open_now();
        meet.exchange("");
      }
    }
    meet.exchange("");
    std::string const count_after = open_now();
    if (worlds >= 1000) {
      std::printf("rank %u: %.3f ms a world in the first half, %.3f ms in the second\n", meet.rank(),
                  static_cast<double>(half[0].count()) / worlds / 5e5,
                  static_cast<double>(half[1].count()) / worlds / 5e5);
      std::fflush(stdout);
    }
    return count_before == count_after ? "" : "there were " + count_before + ", now " + count_after;
  }));
}

/// A rank chooses an address that the other one cannot reach: the error shows both ends.
BOOST_AUTO_TEST_CASE(addresses_that_do_not_reach_each_other) {
  auto const errors = process_ranks::run(2, [](auto& meet) -> verdict {
    tutti::world_options<verbs> o;
    o.transport.timeout = 12;
    o.transport.gid_index = meet.rank() == 0 ? 0 : 1;
    try {
      world w(meet, o);
      return sum_once(w, tutti::ring{}) + "it worked";
    } catch (tutti::error const& e) {
      return e.what();
    }
  });
  std::string const text = errors[0] + errors[1];
  BOOST_TEST(text.find("GID 0 (") != text.npos, text);
  BOOST_TEST(text.find("GID 1 (") != text.npos, text);
  BOOST_TEST(text.find("TUTTI_VERBS_GID") != text.npos, text);
  for (verdict const& error_text : errors) {
    BOOST_TEST(error_text.find("it worked") == error_text.npos);
  }
}

/// Some devices take a timeout of zero for "for ever".
BOOST_AUTO_TEST_CASE(options_that_mean_nothing) {
  check_all(process_ranks::run(1, [](auto& meet) -> verdict {
    std::string errors;
    tutti::verbs_options never;
    tutti::verbs_options late;
    tutti::verbs_options no_piece;
    never.timeout = 0;
    late.timeout = 32;
    no_piece.piece = 0;
    for (tutti::verbs_options const& o : {never, late, no_piece}) {
      try {
        verbs const t(meet, o);
        return "it was opened";
      } catch (tutti::precondition_error const& e) {
        errors += e.what();
      }
    }
    bool const useful = errors.find("timeout must be 1 to 31, not 0") != errors.npos &&
                        errors.find("timeout must be 1 to 31, not 32") != errors.npos &&
                        errors.find("piece must be 1 byte or more, not 0") != errors.npos;
    return useful ? "" : errors;
  }));
}

}  // namespace
