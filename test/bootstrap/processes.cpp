// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using tutti::rank_type;
using tutti::detail::process_rendezvous;

namespace {

bool says(tutti::rank_failure const& f, std::string_view text) {
  return f.text.find(text) != std::string::npos;
}

/// True if all children have been waited for.
bool no_children() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

struct point {
  int x;
  double y;
  explicit point(int value) : x(value), y(value / 2.0) {}
};

static_assert(tutti::detail::returnable<void> && tutti::detail::returnable<int> && tutti::detail::returnable<point>);
static_assert(tutti::detail::returnable<std::string> && tutti::detail::returnable<std::vector<double>>);
static_assert(tutti::detail::returnable<std::array<std::array<float, 3>, 2>>);
static_assert(!tutti::detail::returnable<int*> && !tutti::detail::returnable<std::string_view> &&
              !tutti::detail::returnable<std::span<int>>);
static_assert(!tutti::detail::returnable<std::vector<std::string>> && !tutti::detail::returnable<std::vector<int*>>);
static_assert(!tutti::detail::returnable<std::vector<bool>> && !tutti::detail::returnable<std::unique_ptr<int>>);

}  // namespace

BOOST_AUTO_TEST_CASE(all_get_every_text_in_rank_order_in_every_round) {
  for (rank_type n : {1U, 2U, 5U}) {
    auto const ends = tutti::detail::run_processes(n, [](process_rendezvous& seat) {
      int good = 0;
      std::string const padding(20000, 'x');  // more than one read takes
      for (int round = 0; round < 20; ++round) {
        auto const texts = seat.exchange(std::to_string(seat.rank()) + "/" + std::to_string(round) + padding);
        bool is_right = texts.size() == seat.size();
        for (std::size_t r = 0; is_right && r < texts.size(); ++r) {
          is_right = texts[r] == std::to_string(r) + "/" + std::to_string(round) + padding;
        }
        good += is_right ? 1 : 0;
      }
      return good;
    });
    BOOST_TEST(ends.size() == n);
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == 20);
    }
  }
  BOOST_TEST(no_children());
}

/// The ranks of one world have one secret, and those of another world have another.
BOOST_AUTO_TEST_CASE(ranks_have_a_secret_if_the_program_can_use_one) {
  auto const keys = [] {
    auto const ends = tutti::detail::run_processes(3, [](process_rendezvous& seat) {
      auto const key = seat.secret().key();
      return seat.secret() ? std::string(reinterpret_cast<char const*>(key.data()), key.size()) : "none";
    });
    BOOST_TEST(ends[0].value() == ends[1].value());
    BOOST_TEST(ends[0].value() == ends[2].value());
    return ends[0].value();
  };
  std::string const first_key = keys();
  BOOST_TEST(first_key.size() == tutti::world_secret::bytes);
  BOOST_TEST(first_key != keys());
  auto const* const hash = std::exchange(tutti::detail::net::registered_hash, nullptr);
  BOOST_TEST(keys() == "none");
  tutti::detail::net::registered_hash = hash;
}

BOOST_AUTO_TEST_CASE(results_of_every_kind_come_back) {
  auto const texts = tutti::detail::run_processes(2, [](process_rendezvous& seat) {
    return std::string(seat.rank() * 1'000'000, static_cast<char>('a' + seat.rank())) + '\0';
  });
  BOOST_TEST((texts[0].value() == std::string(1, '\0')));
  BOOST_TEST((texts[1].value() == std::string(1'000'000, 'b') + '\0'));
  auto const points = tutti::detail::run_processes(3, [](process_rendezvous& seat) {
    return std::vector<point>(seat.rank(), point(static_cast<int>(seat.rank())));
  });
  BOOST_TEST(points[0].value().empty());
  BOOST_TEST(points[2].value().size() == 2U);
  BOOST_TEST(points[2].value()[1].y == 1.0);
  auto const pids = tutti::detail::run_processes(2, [](process_rendezvous&) { return ::getpid(); });
  BOOST_TEST(pids[0].value() != pids[1].value());
  BOOST_TEST(pids[0].value() != ::getpid());
  auto const ends = tutti::detail::run_processes(2, [](process_rendezvous&) {});
  BOOST_CHECK_NO_THROW(ends[1].value());
}

BOOST_AUTO_TEST_CASE(exceptions_come_back_and_fail_the_others_by_name) {
  auto const ends = tutti::detail::run_processes(3, [](process_rendezvous& seat) {
    if (seat.rank() == 1) {
      throw tutti::error(tutti::failure::mismatch, "different calls").set_ranks(1, {0, 2});
    }
    seat.exchange("here");
  });
  BOOST_CHECK_EXCEPTION(ends[1].value(), tutti::error, [](tutti::error const& e) {
    return e.kind() == tutti::failure::mismatch && std::string(e.what()) == "different calls" &&
           e.at_fault() == std::vector<rank_type>({0, 2});
  });
  for (rank_type r : {0U, 2U}) {
    auto const& failure = ends[r].failure();
    BOOST_TEST((failure.kind == tutti::failure::join));
    BOOST_TEST(says(failure, "rank 1 failed before: different calls"), failure.text);
    BOOST_TEST((failure.at_fault == std::vector<rank_type>{1}));
  }
}

BOOST_AUTO_TEST_CASE(a_killed_process_fails_the_exchange_of_the_others_by_name) {
  auto const begin = tutti::steady_now();
  auto const ends = tutti::detail::run_processes(4, [](process_rendezvous& seat) {
    seat.exchange("first");
    if (seat.rank() == 2) {
      ::kill(::getpid(), SIGKILL);
    }
    seat.exchange("second");
  });
  BOOST_TEST((tutti::steady_now() - begin < 20s));
  BOOST_TEST(ends[2].failure().signal == SIGKILL);
  BOOST_TEST((ends[2].failure().kind == tutti::failure::peer_lost));
  BOOST_TEST(says(ends[2].failure(), "was killed by signal 9 (Killed)"), ends[2].failure().text);
  for (rank_type r : {0U, 1U, 3U}) {
    auto const& failure = ends[r].failure();
    BOOST_TEST(says(failure, "rank 2 (pid "), failure.text);
    BOOST_TEST(says(failure, "was killed by signal 9"), failure.text);
    BOOST_TEST((failure.at_fault == std::vector<rank_type>{2}));
  }
  BOOST_TEST(no_children());
}

BOOST_AUTO_TEST_CASE(an_exit_is_no_result_and_runs_no_handler_of_the_parent) {
  static int pipe_ends[2];
  BOOST_REQUIRE(::pipe(pipe_ends) == 0);
  std::atexit([] { (void)!::write(pipe_ends[1], "!", 1); });
  auto const ends = tutti::detail::run_processes(3, [](process_rendezvous& seat) {
    if (seat.rank() != 0) {
      ::_exit(static_cast<int>(seat.rank()) + 2);
    }
    return 1;
  });
  BOOST_TEST(ends[0].value() == 1);
  BOOST_TEST(ends[1].failure().status == 3);
  BOOST_TEST(ends[2].failure().status == 4);
  BOOST_TEST(says(ends[2].failure(), "exited with status 4 before it gave a result"), ends[2].failure().text);
  pollfd entry{pipe_ends[0], POLLIN, 0};
  BOOST_TEST(::poll(&entry, 1, 0) == 0);
}

/// Returns everything that `print` and its child processes write to stdout.
template <class Print>
std::string printed_by(Print&& print) {
  std::FILE* const file = std::tmpfile();
  BOOST_REQUIRE(file != nullptr);
  int const saved_stdout = ::dup(1);
  std::fflush(stdout);
  ::dup2(::fileno(file), 1);
  print();
  std::fflush(stdout);
  ::dup2(saved_stdout, 1);
  ::close(saved_stdout);
  std::string text(200, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

BOOST_AUTO_TEST_CASE(output_is_written_once_by_its_writer) {
  std::string const text = printed_by([] {
    std::printf("parent;");  // still in the buffer when the children start
    auto const ends = tutti::detail::run_processes(2, [](process_rendezvous&) { std::printf("child;"); });
    BOOST_TEST((ends[0].has_value() && ends[1].has_value()));
  });
  BOOST_TEST(text == "parent;child;child;");
}

/// Holds the locks of these streams in a thread of its own, for its lifetime.
class locked_streams {
 public:
  explicit locked_streams(std::vector<std::FILE*> streams) : streams_(std::move(streams)) {
    holder_ = std::thread([this] {
      for (std::FILE* const stream : streams_) {
        ::flockfile(stream);
      }
      lock_latch_.count_down();
      end_latch_.wait();
      for (std::FILE* const stream : streams_) {
        ::funlockfile(stream);
      }
    });
    lock_latch_.wait();
  }
  locked_streams(locked_streams const&) = delete;
  locked_streams& operator=(locked_streams const&) = delete;
  ~locked_streams() {
    end_latch_.count_down();
    holder_.join();
  }

 private:
  std::vector<std::FILE*> streams_;
  std::latch lock_latch_{1};
  std::latch end_latch_{1};
  std::thread holder_;
};

BOOST_AUTO_TEST_CASE(no_lock_of_a_stream_is_waited_for_and_output_is_still_written_once) {
  std::FILE* const other = std::tmpfile();
  BOOST_REQUIRE(other != nullptr);
  bool is_good = false;
  std::string const text = printed_by([&] {
    std::printf("parent;");
    locked_streams const locks({stdin, stdout, stderr, other});
    auto const ends = tutti::detail::run_processes(2, [](process_rendezvous&) { std::printf("child;"); });
    is_good = ends[0].has_value() && ends[1].has_value();  // checked later: BOOST_TEST would wait for the locks
  });
  BOOST_TEST(is_good);
  BOOST_TEST(text == "child;child;parent;");
  std::fclose(other);
}

/// Sets the action of SIGCHLD until the end of the block.
class child_signal {
 public:
  explicit child_signal(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &action, &old_action_);
  }
  child_signal(child_signal const&) = delete;
  child_signal& operator=(child_signal const&) = delete;
  ~child_signal() { ::sigaction(SIGCHLD, &old_action_, nullptr); }

 private:
  struct sigaction old_action_ {};
};

void bury_all_children(int) {
  int const saved_errno = errno;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  errno = saved_errno;
}

BOOST_AUTO_TEST_CASE(an_end_that_somebody_else_has_asked_for_is_said_to_be_unknown) {
  for (auto* const handler : {SIG_IGN, &bury_all_children}) {
    child_signal const guard(handler);
    auto const ends = tutti::detail::run_processes(4, [](process_rendezvous& seat) {
      if (seat.rank() == 1) {
        ::kill(::getpid(), SIGKILL);
      }
      if (seat.rank() == 2) {
        ::_exit(7);
      }
      return std::vector<int>(200'000, 5);
    });
    BOOST_TEST(ends[0].value().size() == 200'000U);
    BOOST_TEST(ends[3].value().size() == 200'000U);
    for (rank_type const r : {1U, 2U}) {
      auto const& failure = ends[r].failure();
      bool const is_known = failure.signal == (r == 1 ? SIGKILL : 0) && failure.status == (r == 2 ? 7 : 0);
      bool const is_unknown =
          failure.signal == 0 && failure.status == 0 &&
          says(failure, "with an unknown status (this program ignores SIGCHLD, or waits for all children itself)");
      BOOST_TEST((is_unknown || (is_known && handler != SIG_IGN)), failure.text);  // the library may wait first
      BOOST_TEST((failure.kind == tutti::failure::peer_lost));
    }
  }
  BOOST_TEST(no_children());
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_cancelled_while_it_waits_for_its_processes_ends_them) {
  bool is_unwound = false;
  std::thread starter([&] {
    struct unwinding {
      bool& flag;
      ~unwinding() { flag = true; }
    } const mark{is_unwound};
    (void)tutti::detail::run_processes(2, [](process_rendezvous&) {
      for (;;) {
        ::pause();
      }
    });
  });
  ::pthread_cancel(starter.native_handle());
  starter.join();
  BOOST_TEST(is_unwound);
  BOOST_TEST(no_children());
}

BOOST_AUTO_TEST_CASE(a_rank_that_ends_its_thread_has_failed) {
  auto const ends = tutti::detail::run_processes(2, [](process_rendezvous& seat) {
    if (seat.rank() == 1) {
      ::pthread_exit(nullptr);
    }
    seat.exchange("here");
  });
  for (auto const& end : ends) {
    BOOST_TEST(says(end.failure(), "has ended itself (pthread_exit)"), end.failure().text);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_at_the_deadline) {
  int hold[2];
  BOOST_REQUIRE(::pipe(hold) == 0);
  auto const ends = tutti::detail::run_processes(
      3,
      [&](process_rendezvous& seat) {
        if (seat.rank() == 1) {
          char c = 0;
          return static_cast<int>(::read(hold[0], &c, 1));  // blocks until rank 0 has given up
        }
        try {
          seat.exchange("here");
        } catch (...) {
          if (seat.rank() == 0) {
            (void)!::write(hold[1], "!", 1);
          }
          throw;
        }
        return 0;
      },
      100ms);
  BOOST_TEST(ends[1].value() == 1);
  for (rank_type r : {0U, 2U}) {
    BOOST_TEST(says(ends[r].failure(), "rank 1 of 3 did not come within 0.1 s"), ends[r].failure().text);
  }
  ::close(hold[0]);
  ::close(hold[1]);
}

BOOST_AUTO_TEST_CASE(a_grandchild_does_not_hide_the_death_of_its_parent) {
  int hold[2];
  BOOST_REQUIRE(::pipe(hold) == 0);
  auto const ends = tutti::detail::run_processes(2, [&](process_rendezvous& seat) {
    if (seat.rank() == 1) {
      if (::_Fork() == 0) {  // keeps the socket of rank 1 open
        char c = 0;
        ::close(hold[1]);
        (void)!::read(hold[0], &c, 1);
        ::_exit(0);
      }
      ::kill(::getpid(), SIGKILL);
    }
    seat.exchange("here");
  });
  ::close(hold[1]);
  ::close(hold[0]);
  BOOST_TEST(says(ends[0].failure(), "was killed by signal 9"), ends[0].failure().text);
}

BOOST_AUTO_TEST_CASE(children_do_not_outlive_their_parent) {
  // A process in between starts a world that never ends by itself, and is killed.
  int lives[2];
  BOOST_REQUIRE(::pipe(lives) == 0);
  pid_t const middle = ::fork();
  if (middle == 0) {
    (void)tutti::detail::run_processes(2, [&](process_rendezvous& seat) {
      seat.exchange("");
      (void)!::write(lives[1], "+", 1);
      for (;;) {
        ::pause();
      }
    });
    ::_exit(0);
  }
  ::close(lives[1]);
  char c = 0;
  BOOST_TEST(::read(lives[0], &c, 1) == 1);
  BOOST_TEST(::read(lives[0], &c, 1) == 1);
  ::kill(middle, SIGKILL);
  ::waitpid(middle, nullptr, 0);
  pollfd entry{lives[0], POLLIN, 0};
  BOOST_TEST(tutti::detail::poll_until({&entry, 1}, tutti::steady_now() + 10s) == 1);
  BOOST_TEST(::read(lives[0], &c, 1) == 0);  // end of file: no process holds the other end
  ::close(lives[0]);
}
