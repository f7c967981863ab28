// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/complaints.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/packing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace std::chrono_literals;
using laws::has;
using tutti::rank_type;
using tutti::detail::file_rendezvous;
using tutti::detail::membership;

namespace {

/// A directory for one test.
struct scratch {
  scratch() {
    char name[] = "/tmp/tutti-test-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    base = name;
    path = base + "/meet";
  }
  ~scratch() { (void)!std::system(("rm -rf " + base).c_str()); }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (auto const& n : tutti::detail::directory(path).list("")) {
      if (n != "." && n != "..") {
        names.push_back(n);
      }
    }
    return names;
  }

  std::string base;
  std::string path;
};

membership as(rank_type rank, rank_type size, tutti::duration patience = 20s) {
  return {.rank = rank, .size = size, .patience = patience};
}

bool exists(std::string const& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::vector<tutti::outcome<std::string>> join_all(scratch const& s, std::vector<membership> const& members) {
  return tutti::detail::run_threads(static_cast<rank_type>(members.size()), [&](tutti::detail::thread_rendezvous& at) {
    file_rendezvous r(s.path, members[at.rank()]);
    std::string heard;
    for (auto const& text : r.exchange("<" + std::to_string(r.rank()) + ">")) {
      heard += text;
    }
    return heard;
  });
}

void check_fails(tutti::outcome<std::string> const& end, std::vector<std::string> const& words,
                 std::vector<rank_type> const& blamed) {
  auto const& why = end.failure();
  BOOST_TEST((why.kind == tutti::failure::join));
  BOOST_TEST(why.at_fault == blamed, boost::test_tools::per_element());
  for (auto const& w : words) {
    BOOST_TEST(has(why.text, w), "'" << why.text << "' lacks '" << w << "'");
  }
}

/// Leaves what a world of two leaves behind that crashes after joining and half an exchange.
void crash(scratch const& s) {
  auto const ends = tutti::detail::run_processes(2, [&](tutti::detail::process_rendezvous& at) {
    file_rendezvous r(s.path, as(at.rank(), 2));
    (void)r.exchange("stale");
    at.exchange("");
    tutti::detail::directory(s.path).write("open", tutti::packer().text("0123456789abcdef").text("old 1 ").take());
    tutti::detail::directory(s.path).write("hello.0123456789abcdef.1.x", "?");
    tutti::detail::directory(s.path).write("welcome.0123456789abcdef",
                                           tutti::packer().texts(std::vector<std::string>{"x"}).text("").take());
    ::kill(::getpid(), SIGKILL);
  });
  BOOST_TEST(ends[0].failure().signal == SIGKILL);
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_get_every_text_in_rank_order_in_every_round_and_nothing_is_left) {
  for (rank_type n : {1U, 2U, 5U}) {
    scratch s;
    auto const ends = tutti::detail::run_threads(n, [&](tutti::detail::thread_rendezvous& at) {
      file_rendezvous r(s.path, as(at.rank(), n));
      int good = 0;
      for (int round = 0; round < 5; ++round) {
        auto const all = r.exchange(std::to_string(r.rank()) + "/" + std::to_string(round));
        bool same = all.size() == n;
        for (std::size_t k = 0; same && k < n; ++k) {
          same = all[k] == std::to_string(k) + "/" + std::to_string(round);
        }
        good += same ? 1 : 0;
      }
      return good;
    });
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == 5);
    }
    BOOST_TEST(!exists(s.path));
  }
}

BOOST_AUTO_TEST_CASE(what_a_crashed_job_left_is_not_taken_for_this_one_s) {
  scratch s;
  crash(s);
  BOOST_TEST(!s.files().empty());
  for (int again = 0; again < 3; ++again) {
    auto const ends = join_all(s, {as(0, 3), as(1, 3), as(2, 3)});
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == "<0><1><2>");
    }
    BOOST_TEST(!exists(s.path));
    crash(s);
  }
}

BOOST_AUTO_TEST_CASE(an_early_rank_survives_the_remains_of_a_crashed_job) {
  scratch s;
  crash(s);
  std::atomic<bool> answered{false};
  auto const ends = tutti::detail::run_threads(3, [&](tutti::detail::thread_rendezvous& at) -> std::string {
    if (at.rank() == 2) {  // sees rank 1 answer the call of the dead rank 0
      while (tutti::detail::directory(s.path).list("hello.0123456789abcdef.").size() < 2) {
        std::this_thread::yield();
      }
      answered = true;
      return {};
    }
    while (at.rank() == 0 && !answered) {
      std::this_thread::yield();
    }
    return file_rendezvous(s.path, as(at.rank(), 2)).exchange("fresh").at(1 - at.rank());
  });
  BOOST_TEST(ends[0].value() == "fresh");
  BOOST_TEST(ends[1].value() == "fresh");
}

BOOST_AUTO_TEST_CASE(missing_ranks_are_named_to_all_that_came) {
  scratch s;
  auto const ends = join_all(s, {as(0, 4, 300ms), as(1, 4)});
  for (auto const& e : ends) {
    check_fails(e, {"ranks 2 and 3 of 4 did not join at '" + s.path + "' within 0.3 s", "joined: 0 (", ", 1 ("},
                {2, 3});
  }
}

BOOST_AUTO_TEST_CASE(a_missing_rank_0_is_said_after_the_deadline) {
  scratch s;
  auto const ends = join_all(s, {as(1, 4, 100ms)});
  check_fails(ends[0], {"rank 1 of 4 did not meet rank 0 in '" + s.path + "' within 0.1 s"}, {0});
}

BOOST_AUTO_TEST_CASE(two_processes_of_one_rank_are_named) {
  scratch s;
  for (auto const& e : join_all(s, {as(0, 4), as(1, 4), as(1, 4), as(2, 4)})) {
    check_fails(e, {"two processes both say they are rank 1: on "}, {1});
  }
}

BOOST_AUTO_TEST_CASE(two_processes_of_rank_0_are_named_to_both) {
  scratch s;
  auto const ends = join_all(s, {as(0, 2), as(0, 2)});
  for (auto const& e : ends) {
    check_fails(e, {"two processes both say they are rank 0"}, {0});
  }
}

BOOST_AUTO_TEST_CASE(other_sizes_and_jobs_are_refused_by_name) {
  membership const of_a{.rank = 0, .size = 2, .job = "a", .patience = 300ms};
  membership const of_b{.rank = 1, .size = 2, .job = "b", .patience = 20s};
  membership const of_three{.rank = 1, .size = 3, .job = "a", .patience = 20s};
  for (auto const& [other_job, why] : {std::pair(of_b, "belongs to job 'b', this is 'a'"),
                                       std::pair(of_three, "has a world of 3 ranks, rank 0 one of 2")}) {
    scratch s;
    auto const ends = join_all(s, {of_a, other_job});
    check_fails(ends[0], {"rank 1 of 2 did not join", "refused: rank 1 (", why}, {1});
    check_fails(ends[1], {"rank 0 in '" + s.path + "' refuses a rank: rank 1 (", why}, {1});
  }
}

BOOST_AUTO_TEST_CASE(a_world_comes_together_whatever_others_leave_there) {
  scratch s;
  std::atomic<int> refused{0};
  auto const ends = tutti::detail::run_threads(4, [&](tutti::detail::thread_rendezvous& at) {
    membership const all[] = {as(0, 2), {.rank = 1, .size = 2, .job = "b", .patience = 20s}, as(1, 3), as(1, 2)};
    while (at.rank() == 3 && refused < 2) {
      std::this_thread::yield();
    }
    try {
      file_rendezvous r(s.path, all[at.rank()]);
      auto const heard = r.exchange("<" + std::to_string(r.rank()) + ">");
      return heard[0] + heard[1] + " " + std::to_string(r.refused().size());
    } catch (...) {
      ++refused;
      throw;
    }
  });
  BOOST_TEST(ends[0].value() == "<0><1> 2");
  BOOST_TEST(ends[3].value() == "<0><1> 0");
  check_fails(ends[1], {"belongs to job 'b', this is ''"}, {1});
  check_fails(ends[2], {"has a world of 3 ranks"}, {1});
  BOOST_TEST(!exists(s.path));
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_exchange_is_named_to_the_others) {
  scratch s;
  std::atomic<int> failed{0};
  auto const ends = tutti::detail::run_threads(3, [&](tutti::detail::thread_rendezvous& at) {
    file_rendezvous r(s.path, as(at.rank(), 3, 300ms));
    if (at.rank() == 1) {
      while (failed < 2) {
        std::this_thread::yield();
      }
      return std::string();
    }
    try {
      (void)r.exchange("");
    } catch (...) {
      ++failed;
      throw;
    }
    ++failed;
    return std::string();
  });
  BOOST_TEST(ends[1].has_value());
  check_fails(ends[0], {"rank 1 of 3 did not come within 0.3 s"}, {1});
  check_fails(ends[2], {"rank 1 of 3 did not come within 0.3 s"}, {1});
  BOOST_TEST(!exists(s.path));
}

BOOST_AUTO_TEST_CASE(a_directory_open_to_all_is_refused) {
  scratch s;
  BOOST_REQUIRE(::mkdir(s.path.c_str(), 0700) == 0);
  BOOST_REQUIRE(::chmod(s.path.c_str(), 0777) == 0);
  check_fails(join_all(s, {as(0, 2)})[0], {"'" + s.path + "' is not safe to meet in", "TUTTI_STORE=file:PATH"}, {});
  s.path = s.base + "/no/such";
  check_fails(join_all(s, {as(0, 2)})[0], {"cannot make the directory", "No such file or directory"}, {});
}

BOOST_AUTO_TEST_CASE(its_directory_is_for_this_user_alone) {
  scratch s;
  tutti::detail::directory const d(s.path);
  struct stat st {};
  BOOST_REQUIRE(::stat(s.path.c_str(), &st) == 0);
  BOOST_TEST((st.st_mode & 0777U) == 0700U);
}
