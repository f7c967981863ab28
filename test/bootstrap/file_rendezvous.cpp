// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/complaints.hpp>
#include <support/small_disk.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/packing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using laws::has;
using tutti::rank_type;
using tutti::detail::file_rendezvous;
using tutti::detail::membership;
using tutti::detail::process_rendezvous;
using tutti::detail::thread_rendezvous;

namespace {

/// A temporary folder for one test.
struct scratch {
  scratch() {
    char name[] = "/tmp/tutti-test-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    base = name;
    path = base + "/meet";
  }
  ~scratch() { (void)!std::system(("rm -rf " + base).c_str()); }

  /// The folder in which ranks without a job's name meet.
  [[nodiscard]] std::string inner() const { return path + "/" + tutti::detail::meeting_folder(""); }

  /// The contents of a folder: a line for each entry, with its type, its link and its text.
  [[nodiscard]] static std::string contents(std::string const& folder) {
    std::string const command = "cd '" + folder + "' && find . \\( -type f -printf '%p %y ' -exec cat {} \\; \\) -o " +
                                "-printf '%p %y %l\\n' | sort";
    std::string text;
    FILE* const pipe = ::popen(command.c_str(), "r");
    BOOST_REQUIRE(pipe != nullptr);
    char part[512];
    while (std::size_t const count = std::fread(part, 1, sizeof part, pipe)) {
      text.append(part, count);
    }
    ::pclose(pipe);
    return text;
  }
  [[nodiscard]] bool is_empty() const { return contents(path) == ". d \n"; }

  std::string base;
  std::string path;
};

membership member(rank_type rank, rank_type size, tutti::duration patience = 20s) {
  return {.rank = rank, .size = size, .patience = patience};
}

membership knowing_member(rank_type rank, rank_type size, tutti::duration patience = 20s,
                          char const* secret = "sixteen or more letters") {
  membership me = member(rank, size, patience);
  me.secret = tutti::detail::net::make_secret(secret);
  return me;
}

tutti::detail::directory folder_of(scratch const& s) {
  return {s.path, tutti::detail::meeting_folder("")};
}

void write_file(std::string const& path, std::string const& contents) {
  std::ofstream(path) << contents;
}

std::vector<tutti::outcome<std::string>> join_all(scratch const& s, std::vector<membership> const& members) {
  return tutti::detail::run_threads(static_cast<rank_type>(members.size()), [&](thread_rendezvous& seat) {
    file_rendezvous r(s.path, members[seat.rank()]);
    std::string result;
    for (auto const& text : r.exchange("<" + std::to_string(r.rank()) + ">")) {
      result += text;
    }
    return result;
  });
}

void check_fails(tutti::outcome<std::string> const& end, std::vector<std::string> const& words,
                 std::vector<rank_type> const& culprits) {
  auto const& failure = end.failure();
  BOOST_TEST((failure.kind == tutti::failure::join));
  BOOST_TEST(failure.at_fault == culprits, boost::test_tools::per_element());
  for (auto const& w : words) {
    BOOST_TEST(has(failure.text, w), "'" << failure.text << "' lacks '" << w << "'");
  }
}

/// Leaves the files of a world of two that crashes after joining and half an exchange.
void crash(scratch const& s) {
  tutti::member const old{.host = "old", .pid = 1, .role = {}};
  auto const ends = tutti::detail::run_processes(2, [&](process_rendezvous& seat) {
    file_rendezvous r(s.path, member(seat.rank(), 2));
    (void)r.exchange("stale");
    seat.exchange("");
    tutti::detail::directory folder = folder_of(s);
    folder.write("open", tutti::packer().text("0123456789abcdef").text(tutti::detail::encode(old)).take());
    folder.write("hello.0123456789abcdef.fedcba9876543210", "?");
    folder.write("unwritten.0123456789abcdef.0", "");
    folder.write("welcome.0123456789abcdef", tutti::packer().texts(std::vector<std::string>{"x"}).text("").take());
    ::kill(::getpid(), SIGKILL);
  });
  BOOST_TEST(ends[0].failure().signal == SIGKILL);
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_get_every_text_in_rank_order_in_every_round_and_nothing_is_left) {
  for (auto const& [n, has_secret] : {std::pair(1U, false), {2U, false}, {5U, false}, {1U, true}, {4U, true}}) {
    scratch s;
    auto const ends = tutti::detail::run_threads(n, [&](thread_rendezvous& seat) {
      file_rendezvous r(s.path, has_secret ? knowing_member(seat.rank(), n) : member(seat.rank(), n));
      int good = 0;
      for (int round = 0; round < 5; ++round) {
        auto const texts = r.exchange(std::to_string(r.rank()) + "/" + std::to_string(round));
        bool is_right = texts.size() == n;
        for (std::size_t k = 0; is_right && k < n; ++k) {
          is_right = texts[k] == std::to_string(k) + "/" + std::to_string(round);
        }
        good += is_right ? 1 : 0;
      }
      return good;
    });
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == 5);
    }
    BOOST_TEST(s.is_empty());
  }
}

BOOST_AUTO_TEST_CASE(what_a_crashed_job_left_is_not_taken_for_this_one_s) {
  scratch s;
  crash(s);
  BOOST_TEST(!s.is_empty());
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto const ends = join_all(s, {member(0, 3), member(1, 3), member(2, 3)});
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == "<0><1><2>");
    }
    BOOST_TEST(s.is_empty());
    crash(s);
  }
}

BOOST_AUTO_TEST_CASE(an_early_rank_survives_the_remains_of_a_crashed_job) {
  scratch s;
  crash(s);
  std::atomic<bool> has_answer{false};
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
    if (seat.rank() == 2) {  // sees rank 1 answer the call of the dead rank 0
      tutti::detail::directory const folder = folder_of(s);
      while (folder.list("hello.0123456789abcdef.").size() < 2) {
        std::this_thread::yield();
      }
      has_answer = true;
      return {};
    }
    while (seat.rank() == 0 && !has_answer) {
      std::this_thread::yield();
    }
    return file_rendezvous(s.path, member(seat.rank(), 2)).exchange("fresh").at(1 - seat.rank());
  });
  BOOST_TEST(ends[0].value() == "fresh");
  BOOST_TEST(ends[1].value() == "fresh");
}

BOOST_AUTO_TEST_CASE(missing_ranks_are_named_to_all_that_came) {
  scratch s;
  auto const ends = join_all(s, {member(0, 4, 300ms), member(1, 4)});
  for (auto const& e : ends) {
    check_fails(e, {"ranks 2 and 3 of 4 did not join at '" + s.inner() + "' within 0.3 s", "joined: 0 (", ", 1 ("},
                {2, 3});
  }
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(a_missing_rank_0_is_said_after_the_deadline) {
  scratch s;
  auto const ends = join_all(s, {member(1, 4, 100ms)});
  check_fails(ends[0], {"rank 1 of 4 did not meet rank 0 in '" + s.inner() + "' within 0.1 s"}, {0});
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(two_processes_of_one_rank_are_named) {
  scratch s;
  for (auto const& e : join_all(s, {member(0, 4), member(1, 4), member(1, 4), member(2, 4)})) {
    check_fails(e, {"two processes both say they are rank 1: on "}, {1});
  }
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(two_processes_of_rank_0_are_named_to_both) {
  scratch s;
  auto const ends = join_all(s, {member(0, 2), member(0, 2)});
  for (auto const& e : ends) {
    check_fails(e, {"two processes both say they are rank 0"}, {0});
  }
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(other_sizes_are_refused_by_name) {
  scratch s;
  auto const ends = join_all(s, {member(0, 2, 300ms), member(1, 3)});
  std::string const reason = "expects a world of 3 ranks, but rank 0 expects 2";
  check_fails(ends[0], {"rank 1 of 2 did not join", "refused: rank 1 (", reason}, {1});
  check_fails(ends[1], {"rank 0 in '" + s.inner() + "' refuses a rank: rank 1 (", reason}, {1});
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(the_failure_of_a_meeting_stays_until_the_slowest_rank_has_heard_of_it) {
  scratch s;
  std::string session;
  bool has_failure = false;
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
    if (seat.rank() == 2) {  // plays a rank 2 that reads the folder only after rank 0 has left
      tutti::detail::directory folder = folder_of(s);
      std::optional<std::string> open;
      for (; !open; std::this_thread::yield()) {
        open = folder.read("open", 1000);
      }
      session = tutti::unpacker(*open).text();
      std::string const hello = "hello." + session + ".fedcba9876543210";
      folder.write(hello, tutti::packer()
                              .text("fedcba9876543210")
                              .number(2)
                              .number(4)
                              .text(tutti::detail::encode(tutti::this_member()))
                              .take());
      seat.exchange("");
      has_failure =
          folder.read("failure." + session, 10'000).value_or("").find("fedcba9876543210") != std::string::npos;
      folder.remove(hello);
      return {};
    }
    try {
      file_rendezvous const r(s.path, member(seat.rank(), 4, seat.rank() == 0 ? 300ms : 20s));
    } catch (...) {
      seat.exchange("");
      throw;
    }
    return {};
  });
  for (rank_type const r : {0U, 1U}) {
    check_fails(ends[r], {"rank 3 of 4 did not join"}, {3});
  }
  BOOST_TEST(has_failure);
}

BOOST_AUTO_TEST_CASE(a_rank_of_another_version_is_refused_by_name) {
  scratch s;
  std::string name;
  std::string refusal;
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    if (seat.rank() == 0) {
      return file_rendezvous(s.path, member(0, 2)).exchange("").size();
    }
    tutti::detail::directory folder = folder_of(s);
    std::optional<std::string> open;
    for (; !open; std::this_thread::yield()) {
      open = folder.read("open", 1000);
    }
    std::string const session(tutti::unpacker(*open).text());
    name = "hello." + session + ".fedcba9876543210";
    folder.write(name, "words of another version");
    std::optional<std::string> reason;
    for (; !reason; std::this_thread::yield()) {
      reason = folder.read("refusal." + session + ".fedcba9876543210", 1000);
    }
    refusal = *reason;
    return file_rendezvous(s.path, member(1, 2)).exchange("").size();
  });
  std::string const reason =
      "'" + s.inner() + "/" + name + "' was written by another version of tutti; build all ranks with one version";
  BOOST_TEST(has(refusal, reason));
  BOOST_TEST(ends[0].value() == 2U);
  BOOST_TEST(ends[1].value() == 2U);
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(a_world_comes_together_whatever_others_leave_there) {
  scratch s;
  std::atomic<int> refusal_count{0};
  auto const ends = tutti::detail::run_threads(4, [&](thread_rendezvous& seat) {
    membership const members[] = {member(0, 2), member(1, 4), member(1, 3), member(1, 2)};
    while (seat.rank() == 3 && refusal_count < 2) {
      std::this_thread::yield();
    }
    try {
      file_rendezvous r(s.path, members[seat.rank()]);
      auto const texts = r.exchange("<" + std::to_string(r.rank()) + ">");
      return texts[0] + texts[1] + " " + std::to_string(r.refusals().size());
    } catch (...) {
      ++refusal_count;
      throw;
    }
  });
  BOOST_TEST(ends[0].value() == "<0><1> 2");
  BOOST_TEST(ends[3].value() == "<0><1> 0");
  check_fails(ends[1], {"expects a world of 4 ranks"}, {1});
  check_fails(ends[2], {"expects a world of 3 ranks"}, {1});
  BOOST_TEST(s.is_empty());
}

/// Tries all orders in which the ranks of two jobs of two may reach one place: no rank hears of the other job.
BOOST_AUTO_TEST_CASE(jobs_of_two_names_meet_in_one_place_each_by_itself) {
  scratch s;
  std::array<rank_type, 4> order{0, 1, 2, 3};
  do {
    std::atomic<int> turn{0};
    auto const ends = tutti::detail::run_threads(4, [&](thread_rendezvous& seat) {
      auto const place = std::find(order.begin(), order.end(), seat.rank()) - order.begin();
      while (turn < place) {
        std::this_thread::yield();
      }
      ++turn;
      std::string const job = seat.rank() < 2 ? "a" : "b";
      file_rendezvous r(s.path, {.rank = seat.rank() % 2, .size = 2, .job = job, .patience = 20s});
      auto const texts = r.exchange(job);
      return texts[0] + texts[1];
    });
    for (std::size_t i = 0; i < 4; ++i) {
      BOOST_TEST(ends[i].value() == (i < 2 ? "aa" : "bb"));
    }
    BOOST_TEST(s.is_empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Two jobs of one name: whichever rank of the second comes while the first one meets, all ranks fail with the reason.
BOOST_AUTO_TEST_CASE(a_second_process_of_a_rank_ends_the_meeting_for_all_until_its_last_exchange) {
  for (rank_type const duplicate : {0U, 1U}) {
    scratch s;
    std::atomic<bool> has_met{false};
    std::atomic<bool> has_outcome{false};
    auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
      if (seat.rank() == 2) {
        while (!has_met) {
          std::this_thread::yield();
        }
        try {
          file_rendezvous const second(s.path, member(duplicate, 2));
        } catch (...) {
          has_outcome = true;
          throw;
        }
        has_outcome = true;
        return "met";
      }
      file_rendezvous r(s.path, member(seat.rank(), 2));
      (void)r.exchange("");
      has_met = true;
      // Rank 0 waits for this rank's text, and learns of the second process instead.
      while (seat.rank() == 1 && !has_outcome) {
        std::this_thread::yield();
      }
      (void)r.exchange("");
      return "ended";
    });
    for (auto const& e : ends) {
      check_fails(e,
                  {"two processes both say they are rank " + std::to_string(duplicate),
                   "give each job its own TUTTI_JOB", "TUTTI_JOB"},
                  {duplicate});
    }
    BOOST_TEST(s.is_empty());
  }
}

/// Files, links and folders of the user, with names like those of a meeting, in the folder and beside it.
BOOST_AUTO_TEST_CASE(nothing_of_the_user_is_touched) {
  scratch s;
  std::string const number = "0123456789abcdef";
  BOOST_REQUIRE(::mkdir(s.path.c_str(), 0700) == 0);
  write_file(s.base + "/mine", "precious");
  for (std::string const& folder : {s.path, s.path + "/tutti-meeting", s.path + "/tutti-meeting-0-" + number}) {
    (void)::mkdir(folder.c_str(), 0700);
    for (std::string const kind : {"open", "hello", "text", "table", "draft", "bye", "failure", "welcome", "refusal",
                                   "unwritten", "probe", "tutti"}) {
      for (std::string const& end : {std::string(), std::string(".c"), "." + number, "." + number + ".0"}) {
        write_file(folder + "/" + kind + end, "precious\n");
      }
      BOOST_REQUIRE(::symlink((s.base + "/mine").c_str(), (folder + "/" + kind + ".link").c_str()) == 0);
      BOOST_REQUIRE(::mkdir((folder + "/" + kind + "." + number + ".1").c_str(), 0700) == 0);
    }
  }
  std::string const old_contents = scratch::contents(s.base);
  for (auto const& e : join_all(s, {member(0, 2), member(1, 2)})) {
    BOOST_TEST(e.value() == "<0><1>");
  }
  BOOST_TEST(scratch::contents(s.base) == old_contents);
  for (auto const& e : join_all(s, {member(0, 3, 100ms), member(1, 3)})) {
    BOOST_TEST(!e.has_value());
  }
  crash(s);
  (void)join_all(s, {member(0, 2), member(1, 2)});
  BOOST_TEST(scratch::contents(s.base) == old_contents);
}

/// Files that a user puts into the library's own folder, before or during a meeting, stay, and so does the folder.
BOOST_AUTO_TEST_CASE(what_a_user_puts_into_the_folder_of_a_meeting_stays) {
  scratch s;
  BOOST_REQUIRE(::mkdir(s.path.c_str(), 0700) == 0);
  BOOST_REQUIRE(::mkdir(s.inner().c_str(), 0700) == 0);
  std::string const names[] = {"open.c",
                               "opening",
                               "hello.c",
                               "hello.0123456789abcdef.txt",
                               "text.txt",
                               "draft.tex",
                               "bye.0123",
                               "bye.0123456789abcde.1",
                               "table.0123456789abcdefg",
                               "failures.0123456789abcdef",
                               "notes"};
  auto const write_files = [&](std::string const& suffix) {
    for (std::string const& name : names) {
      write_file(s.inner() + "/" + name + suffix, "precious\n");
    }
    return ::mkdir((s.inner() + "/mine" + suffix).c_str(), 0700) == 0 &&
           ::symlink("/etc/passwd", (s.inner() + "/link" + suffix).c_str()) == 0;
  };
  BOOST_REQUIRE(write_files(""));
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    file_rendezvous r(s.path, member(seat.rank(), 2));
    bool const is_ready = seat.rank() == 1 || write_files(".late");
    return is_ready ? r.exchange("x").size() : 0;
  });
  for (auto const& e : ends) {
    BOOST_TEST(e.value() == 2U);
  }
  std::string const contents = scratch::contents(s.inner());
  BOOST_TEST(std::count(contents.begin(), contents.end(), '\n') == 1 + 2 * (11 + 2), contents);
  for (std::string const& name : names) {
    BOOST_TEST(has(contents, "./" + name + " f precious\n"), name << " is not in\n" << contents);
    BOOST_TEST(has(contents, "./" + name + ".late f precious\n"), name << ".late is not in\n" << contents);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_exchange_is_named_to_the_others) {
  scratch s;
  std::atomic<int> failures{0};
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    file_rendezvous r(s.path, member(seat.rank(), 3, 300ms));
    if (seat.rank() == 1) {
      while (failures < 2) {
        std::this_thread::yield();
      }
      return std::string();
    }
    try {
      (void)r.exchange("");
    } catch (...) {
      ++failures;
      throw;
    }
    ++failures;
    return std::string();
  });
  BOOST_TEST(ends[1].has_value());
  check_fails(ends[0], {"rank 1 of 3 did not come within 0.3 s"}, {1});
  check_fails(ends[2], {"rank 1 of 3 did not come within 0.3 s"}, {1});
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(a_place_that_others_may_change_is_refused_with_what_to_do) {
  scratch s;
  BOOST_REQUIRE(::mkdir(s.path.c_str(), 0700) == 0);
  for (auto const& [mode, writers] :
       {std::pair(0770U, "the members of its group"), std::pair(02730U, "the members of its"),
        std::pair(0777U, "all users"), std::pair(0702U, "all users")}) {
    BOOST_REQUIRE(::chmod(s.path.c_str(), mode) == 0);
    check_fails(
        join_all(s, {member(0, 2)})[0],
        {"'" + s.path + "' is not safe to meet in", writers, "chmod go-w '" + s.path + "'", "TUTTI_STORE=file:PATH"},
        {0});
    BOOST_TEST(s.is_empty());
  }
  for (unsigned const mode : {0700U, 0755U, 01777U, 01770U}) {
    BOOST_REQUIRE(::chmod(s.path.c_str(), mode) == 0);
    BOOST_TEST(join_all(s, {member(0, 2), member(1, 2)})[1].value() == "<0><1>");
  }
  BOOST_REQUIRE(::chmod(s.path.c_str(), 0700) == 0);
  if (::geteuid() == 0) {
    BOOST_REQUIRE(::chown(s.path.c_str(), 12345, 12345) == 0);
    for (unsigned const mode : {0700U, 01777U}) {
      BOOST_REQUIRE(::chmod(s.path.c_str(), mode) == 0);
      check_fails(join_all(s, {member(0, 2)})[0], {"is not safe to meet in: it belongs to another user"}, {0});
    }
  }
  s.path = s.base + "/no/such";
  check_fails(join_all(s, {member(0, 2)})[0], {"cannot make the directory", "No such file or directory"}, {0});
  s.path = s.base + "/file";
  write_file(s.path, "");
  check_fails(join_all(s, {member(1, 2)})[0], {"cannot use the directory", "Not a directory"}, {1});
}

BOOST_AUTO_TEST_CASE(a_folder_of_a_meeting_that_others_may_have_made_is_refused) {
  std::string const makers[] = {"mkdir -m 770", "mkdir -m 707", "touch", "ln -s /tmp",
                                "mkdir -m 700 $0 && chown 12345"};
  for (std::string const& maker : makers) {
    if (maker.ends_with("12345") && ::geteuid() != 0) {
      continue;
    }
    scratch s;
    BOOST_REQUIRE(::mkdir(s.path.c_str(), 0700) == 0);
    BOOST_REQUIRE(std::system(("sh -c '" + maker + " $0' " + s.inner()).c_str()) == 0);
    std::string const old_contents = scratch::contents(s.path);
    for (auto const& e : join_all(s, {member(0, 2), member(1, 2)})) {
      check_fails(e, {"'" + s.inner() + "' is not safe to meet in", "remove it"}, e.failure().at_fault);
    }
    BOOST_TEST(scratch::contents(s.path) == old_contents);
  }
}

/// Only files that a rank may have written are read: others may be endless, block the reader or belong to another
/// user.
BOOST_AUTO_TEST_CASE(only_regular_files_of_this_user_and_of_bounded_length_are_read) {
  std::string const makers[] = {"ln -s /dev/zero", "ln -s /etc/passwd", "mkfifo",
                                "mkdir",           "truncate -s 8T",    "touch $0; chown 12345"};
  for (std::string const& maker : makers) {
    if (maker.ends_with("12345") && ::geteuid() != 0) {
      continue;
    }
    scratch s;
    tutti::detail::directory const folder = folder_of(s);
    BOOST_REQUIRE(::mkdir(s.inner().c_str(), 0700) == 0 || errno == EEXIST);
    BOOST_REQUIRE(std::system(("sh -c '" + maker + " $0' " + s.inner() + "/open").c_str()) == 0);
    BOOST_CHECK_EXCEPTION((void)folder.read("open", 1000), tutti::error, [&](tutti::error const& e) {
      return has(e.what(), "'" + s.inner() + "/open' is not safe to meet in: ") && has(e.what(), "; remove it");
    });
    check_fails(join_all(s, {member(1, 2)})[0], {s.inner() + "/open' is not safe"}, {1});
  }
  scratch s;
  tutti::detail::directory folder = folder_of(s);
  folder.write("fits", std::string(1000, 'x'));
  BOOST_TEST(folder.read("fits", 1000).value().size() == 1000U);
  BOOST_CHECK_THROW((void)folder.read("fits", 999), tutti::error);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_too_long_names_its_rank) {
  scratch s;
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    file_rendezvous r(s.path, member(seat.rank(), 3));
    (void)r.exchange(std::string(seat.rank() == 1 ? 10'000'000 : 1, 'x'));
    return std::string();
  });
  for (auto const& e : ends) {
    check_fails(e, {"is longer than 1398101 bytes"}, {1});
  }
  BOOST_TEST(s.is_empty());
}

BOOST_AUTO_TEST_CASE(its_folder_is_for_this_user_alone) {
  scratch s;
  tutti::detail::directory const d = folder_of(s);
  for (std::string const& path : {s.path, s.inner()}) {
    struct stat st {};
    BOOST_REQUIRE(::stat(path.c_str(), &st) == 0);
    BOOST_TEST((st.st_mode & 0777U) == 0700U);
  }
}

namespace {

/// Lets ranks with a patience of a minute meet on a disk and exchange texts of these sizes. With `fills_disk`, the disk
/// is full when ranks other than 0 have written theirs. All must fail at once, with the reason of the rank that could
/// not write.
void check_full(scratch const& s, std::vector<std::size_t> const& sizes, bool fills_disk, rank_type failing_rank,
                bool has_secret = false) {
  auto const begin = tutti::steady_now();
  auto const ends = tutti::detail::run_threads(static_cast<rank_type>(sizes.size()), [&](thread_rendezvous& seat) {
    file_rendezvous r(
        s.path, has_secret ? knowing_member(seat.rank(), seat.size(), 60s) : member(seat.rank(), seat.size(), 60s));
    if (fills_disk && seat.rank() == 0) {
      tutti::detail::directory const folder = folder_of(s);
      while (folder.list("text.").size() + 1 < sizes.size()) {
        std::this_thread::yield();
      }
      write_file(s.path + "/mine", std::string(1'000'000, 'x'));
    }
    if (failing_rank != 0 &&
        seat.rank() == failing_rank) {  // a text written in part would leave no room for those of others
      tutti::detail::directory const folder = folder_of(s);
      while (folder.list("text.").size() + 2 < sizes.size()) {  // rank 0 writes no text
        std::this_thread::yield();
      }
    }
    (void)r.exchange(std::string(sizes[seat.rank()], 'x'));
    return std::string();
  });
  BOOST_TEST((tutti::steady_now() - begin < 30s));
  for (auto const& e : ends) {
    check_fails(e, {"rank " + std::to_string(failing_rank) + " cannot write to"}, {failing_rank});
  }
  check_fails(ends[failing_rank], {"No space left on device"}, {failing_rank});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_to_all_at_once) {
  {
    scratch s;
    small_disk const disk(s.path, "256k");
    if (!disk.is_mounted) {
      BOOST_TEST_MESSAGE("skipped: mounting a small file system takes root");
      return;
    }
    check_full(s, {10, 70'000, 70'000}, false, 0);  // the texts have room, the table has none
  }
  {
    scratch s;
    small_disk const disk(s.path, "256k");
    check_full(s, {10, 10, 400'000}, false, 2);
  }
  {
    scratch s;
    small_disk const disk(s.path, "256k");
    check_full(s, {10, 10, 10}, true, 0);  // not even the reason has room
  }
  {
    scratch s;
    small_disk const disk(s.path, "256k");
    check_full(s, {10, 10, 10}, true, 0, true);
  }
  {
    scratch s;
    small_disk const disk(s.path, "64k");
    write_file(s.path + "/mine", std::string(100'000, 'x'));
    auto const begin = tutti::steady_now();
    auto const ends = join_all(s, {member(0, 2, 60s), member(1, 2, 60s)});
    BOOST_TEST((tutti::steady_now() - begin < 30s));
    for (rank_type const r : {0U, 1U}) {
      check_fails(ends[r], {"cannot write to the directory '" + s.path + "'", "No space left on device"}, {r});
    }
    BOOST_TEST(!has(scratch::contents(s.path), "tutti-meeting"));
  }
}

namespace {

/// A second program of the user that writes into the folder of a meeting without knowing its secret.
struct intruder {
  explicit intruder(scratch const& s) : folder(folder_of(s)) {
    std::optional<std::string> open;
    for (; !open; std::this_thread::yield()) {
      open = folder.read("open", 1000);
    }
    session = tutti::unpacker(*open).text();
  }

  tutti::detail::directory folder;
  std::string session;
};

}  // namespace

/// A hello without a proof, with one by another key, and with one that belongs to another file.
BOOST_AUTO_TEST_CASE(a_file_of_a_program_without_the_secret_takes_no_seat) {
  scratch s;
  std::string const folder_name = tutti::detail::meeting_folder("");
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    if (seat.rank() == 1) {
      intruder i(s);
      std::string const hello = "hello." + i.session + ".fedcba987654321";
      std::string const text = tutti::packer()
                                   .text("fedcba9876543210")
                                   .number(1)
                                   .number(2)
                                   .text(tutti::detail::encode(tutti::this_member("")))
                                   .take();
      tutti::detail::net::proof_key const other(tutti::detail::net::make_secret("another secret text"));
      i.folder.write(hello + "0", text);
      i.folder.write(hello + "1", *i.folder.read("open", 1000));
      tutti::detail::directory(s.path, folder_name, other.derive("store", {folder_name})).write(hello + "2", text);
    }
    file_rendezvous r(s.path, knowing_member(seat.rank(), 2));
    std::string texts;
    for (auto const& text : r.exchange(std::to_string(r.rank()))) {
      texts += text;
    }
    std::string const refusals = r.refusals().empty() ? "" : r.refusals()[0];
    return std::pair(texts, std::to_string(r.refusals().size()) + refusals);
  });
  BOOST_TEST(ends[0].value().first == "01");
  BOOST_TEST(ends[1].value().first == "01");
  BOOST_TEST(has(ends[0].value().second, "does not prove that its writer knows this TUTTI_SECRET"));
  BOOST_TEST(ends[0].value().second.front() == '3');
  BOOST_TEST(s.is_empty());
}

/// Marks and answers of a program without the secret, for the whole of a meeting and for its exchange.
BOOST_AUTO_TEST_CASE(forged_marks_and_answers_fail_no_meeting) {
  scratch s;
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
    if (seat.rank() == 1) {
      intruder i(s);
      std::string const failure =
          tutti::packer()
              .texts(std::vector<std::string>{i.session})
              .text(tutti::detail::encode(tutti::rank_failure{"forged", tutti::failure::join, {}}))
              .take();
      for (char const* const kind : {"unwritten.", "bye."}) {
        for (char const* const rank : {".0", ".1", ".2"}) {
          i.folder.mark(std::string(kind).append(i.session).append(rank));
          i.folder.mark(std::string(kind).append(i.session).append(rank).append(".0123456789abcdef"));
        }
      }
      i.folder.mark("unwritten.0123456789abcdef.0");
      for (char const* const name : {"failure.", "welcome."}) {
        i.folder.write(name + i.session, failure);
      }
      i.folder.write("text." + i.session + ".0.2", "forged");
      i.folder.write("table." + i.session + ".0", tutti::packer().texts(std::vector<std::string>(3, "forged")).take());
    }
    file_rendezvous r(s.path, knowing_member(seat.rank(), 3));
    std::string texts;
    for (int round = 0; round != 2; ++round) {
      for (auto const& text : r.exchange(std::to_string(r.rank()))) {
        texts += text;
      }
    }
    return texts;
  });
  for (auto const& end : ends) {
    BOOST_TEST((end ? end.value() : end.failure().text) == "012012");
  }
  BOOST_TEST(s.is_empty());
}

/// Links, files of other kinds and endless files at the names of files that ranks look for.
BOOST_AUTO_TEST_CASE(files_that_no_rank_writes_fail_no_meeting_with_a_secret) {
  for (std::string const maker : {"ln -s /dev/zero", "ln -s /etc/passwd", "mkfifo", "mkdir", "truncate -s 8T"}) {
    scratch s;
    auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
      if (seat.rank() == 1) {
        intruder const i(s);
        for (std::string const& name : {"failure." + i.session, "hello." + i.session + ".fedcba9876543210"}) {
          if (std::system((maker + " " + s.inner() + "/" + name).c_str()) != 0) {
            throw std::runtime_error("a file of a stranger could not be made");
          }
        }
      }
      file_rendezvous r(s.path, knowing_member(seat.rank(), 2));
      auto const texts = r.exchange(std::to_string(r.rank()));
      return std::pair(texts[0] + texts[1], r.refusals());
    });
    for (auto const& end : ends) {
      BOOST_REQUIRE_MESSAGE(end.has_value(), maker);
      BOOST_TEST(end.value().first == "01");
      auto const& refusals = end.value().second;
      BOOST_TEST(std::any_of(refusals.begin(), refusals.end(), [&](std::string const& text) {
        return has(text, "/failure.") && has(text, maker.starts_with("truncate") ? "is longer than" : "is a link, or");
      }));
    }
  }
}

namespace {

int hashes = 0;
constexpr tutti::detail::net::hash_calls counting_hash{
    [](std::span<std::string_view const> parts, std::byte* digest) noexcept {
      ++hashes;
      tutti::support::toy_sha256(parts, digest);
    }};

}  // namespace

/// Ranks look for files again and again, and files may be long.
BOOST_AUTO_TEST_CASE(a_file_without_a_proof_is_read_once) {
  scratch s;
  tutti::detail::net::proof_key const key(tutti::detail::net::make_secret("sixteen or more letters"));
  tutti::detail::directory member_folder(s.path, tutti::detail::meeting_folder(""), key);
  tutti::detail::directory stranger_folder = folder_of(s);
  auto const hashes_of_reading = [&](char const* expected) {
    int const first_count = hashes;
    auto const contents = member_folder.read("text", 1000);
    BOOST_TEST(contents.value_or("missing") == expected);
    return hashes - first_count;
  };
  auto const* const hash = std::exchange(tutti::detail::net::registered_hash, &counting_hash);
  stranger_folder.write("text", "forged");
  BOOST_TEST(hashes_of_reading("missing") > 0);
  for (int round = 0; round != 3; ++round) {
    BOOST_TEST(hashes_of_reading("missing") == 0);
  }
  stranger_folder.write("text", "forged too");
  BOOST_TEST(hashes_of_reading("missing") > 0);
  BOOST_TEST(hashes_of_reading("missing") == 0);
  member_folder.write("text", "true");
  BOOST_TEST(hashes_of_reading("true") > 0);
  BOOST_TEST(member_folder.forgeries().size() == 1U);
  tutti::detail::net::registered_hash = hash;
}

/// The file by which rank 0 of an earlier meeting of the job began is put back while ranks meet, and again before
/// their exchange.
BOOST_AUTO_TEST_CASE(an_open_file_of_an_earlier_meeting_opens_none) {
  scratch s;
  std::string const open = s.inner() + "/open";
  std::string const saved_file = s.base + "/saved_file";
  auto const put_back = [&] {
    std::filesystem::copy_file(saved_file, saved_file + ".copy", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(saved_file + ".copy", open);
  };
  for (bool const is_first : {true, false}) {
    auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
      if (seat.rank() == 1) {
        intruder const i(s);
        if (is_first) {
          std::filesystem::copy_file(open, saved_file);
        } else {
          put_back();
        }
      }
      file_rendezvous r(s.path, knowing_member(seat.rank(), 2));
      if (seat.rank() == 1 && !is_first) {
        put_back();
      }
      std::string texts;
      for (int round = 0; round != 3; ++round) {
        for (auto const& text : r.exchange(std::to_string(r.rank()))) {
          texts += text;
        }
      }
      return texts;
    });
    for (auto const& end : ends) {
      BOOST_TEST((end ? end.value() : end.failure().text) == "010101");
    }
    BOOST_TEST(s.is_empty());
  }
}

BOOST_AUTO_TEST_CASE(two_processes_of_rank_0_with_a_secret_are_named_to_both) {
  for (rank_type const other_size : {2U, 3U}) {
    scratch s;
    auto const ends = join_all(s, {knowing_member(0, 2), knowing_member(0, other_size)});
    for (auto const& e : ends) {
      check_fails(e, {"two processes both say they are rank 0"}, {0});
    }
    BOOST_TEST(s.is_empty());
  }
}

BOOST_AUTO_TEST_CASE(ranks_of_two_secrets_do_not_meet_and_say_so) {
  for (char const* const secret : {"another secret text", ""}) {
    scratch s;
    auto const ends =
        join_all(s, {knowing_member(0, 2, 300ms),
                     *secret == '\0' ? member(1, 2, 300ms) : knowing_member(1, 2, 300ms, "another secret text")});
    check_fails(ends[0], {"rank 1 of 2 did not join"}, {1});
    check_fails(ends[1], {"did not meet rank 0", "one TUTTI_SECRET or none"}, {0});
    if (*secret != '\0') {
      BOOST_TEST(has(ends[1].failure().text, "refused: '"), ends[1].failure().text);
      BOOST_TEST(has(ends[1].failure().text, "open' does not prove that its writer knows this TUTTI_SECRET"));
    }
  }
}
