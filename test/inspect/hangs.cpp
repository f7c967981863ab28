// SPDX-License-Identifier: Apache-2.0
// test: plain waits may_skip (processes that hang, and a program that looks at them)
#include <tutti/dup.hpp>
#include <tutti/join.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <pthread.h>
#include <regex>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#ifdef TUTTI_INSPECT

namespace {

using tutti::rank_type;

/// Processes that join a world of three and hang, until the test ends.
class hanging_job {
 public:
  static constexpr rank_type size = 3;

  template <class Transport>
  static hanging_job start(void (*hang)(tutti::communicator<Transport>&)) {
    hanging_job job;
    for (rank_type r = 0; r < size; ++r) {
      pid_t const child = ::fork();
      if (child == 0) {
        job.run<Transport>(r, hang);
      }
      job.pids_.push_back(child);
    }
    return job;
  }
  hanging_job(hanging_job&& other) noexcept
      : folder_(std::exchange(other.folder_, "")), pids_(std::exchange(other.pids_, {})) {}
  ~hanging_job() {
    for (pid_t const pid : pids_) {
      ::kill(pid, SIGKILL);
    }
    for (pid_t const pid : pids_) {
      ::waitpid(pid, nullptr, 0);
    }
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  /// "rank 2 (pid 4242)".
  [[nodiscard]] std::string rank(rank_type r) const {
    return "rank " + std::to_string(r) + " (pid " + std::to_string(pids_[r]) + ")";
  }

  /// The first line of the tool, with "T s" for times and "F" for functions of the kernel, once it is `expected`; at
  /// the time limit, whatever it is.
  [[nodiscard]] std::string explanation(std::string const& expected) const {
    return poll_until(expected, [&] { return first_line(inspect("--job " + name())); });
  }
  /// The first line about a file that the tool has written, as `explanation`.
  [[nodiscard]] std::string saved_explanation(std::string const& expected) const {
    std::string const file = folder_ + "/saved";
    return poll_until(expected, [&] {
      std::filesystem::remove(file);
      static_cast<void>(inspect("--job " + name() + " --save " + file));
      return first_line(inspect(file));
    });
  }
  /// The lines of the tool about the dumps of the ranks, once there are `count`; at the time limit, whatever they are.
  [[nodiscard]] std::string explanation_of_dumps(std::size_t count) const {
    static_cast<void>(poll_until(count, [&] {
      std::size_t dumps = 0;
      for (auto const& entry : std::filesystem::directory_iterator(dumps_folder())) {
        dumps += entry.path().extension() == ".dump" && std::filesystem::file_size(entry) != 0 ? 1U : 0U;
      }
      return dumps;
    }));
    return inspect(dumps_folder());
  }
  void kill(rank_type r) const { ::kill(pids_[r], SIGKILL); }
  void signal_all() const {
    for (pid_t const pid : pids_) {
      ::kill(pid, SIGUSR2);
    }
  }

  /// The first line, with "T s" for times and "F" for functions of the kernel.
  [[nodiscard]] static std::string first_line(std::string const& text) {
    std::string const line =
        std::regex_replace(text.substr(0, text.find('\n')), std::regex("for [0-9.]+ s"), "for T s");
    return std::regex_replace(line, std::regex("uninterruptible, in [a-z0-9_.]+"), "uninterruptible, in F");
  }

 private:
  hanging_job() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tutti-hang-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(dumps_folder());
  }
  template <class Transport>
  [[noreturn]] void run(rank_type r, void (*hang)(tutti::communicator<Transport>&)) const {
    bool has_joined = false;
    try {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setenv("TUTTI_RANK", std::to_string(r).c_str(), 1);
      ::setenv("TUTTI_SIZE", std::to_string(size).c_str(), 1);
      ::setenv("TUTTI_JOB", name().c_str(), 1);
      ::setenv("TUTTI_STORE", ("file:" + folder_).c_str(), 1);
      ::setenv("TUTTI_DUMPS", dumps_folder().c_str(), 1);
      auto world = tutti::join<Transport>();
      int element = 1;
      tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(element);
      has_joined = true;
      hang(world);
    } catch (std::exception const& e) {  // also at the end of the test, which kills one rank after the other
      has_joined ? 0 : std::fprintf(stderr, "rank %u: %s\n", r, e.what());
    }
    ::_exit(1);
  }
  template <class Value, class F>
  [[nodiscard]] static Value poll_until(Value const& expected, F f) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    Value value{};
    do {
      value = f();
    } while (value != expected && std::chrono::steady_clock::now() < deadline);
    return value;
  }
  /// The output of the tool.
  [[nodiscard]] static std::string inspect(std::string const& arguments) {
    std::string text;
    std::array<char, 4096> part{};
    std::FILE* const output = ::popen((std::string(TUTTI_INSPECT) + " " + arguments + " 2>&1").c_str(), "r");
    while (std::fgets(part.data(), static_cast<int>(part.size()), output) != nullptr) {
      text += part.data();
    }
    ::pclose(output);
    return text;
  }
  [[nodiscard]] std::string dumps_folder() const { return folder_ + "/dumps"; }
  [[nodiscard]] std::string name() const { return std::filesystem::path(folder_).filename().string(); }

  std::string folder_;
  std::vector<pid_t> pids_;
};

template <class Communicator>
void sum_over(Communicator& world) {
  int element = 1;
  tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(element);
}
template <class Communicator>
void receive_from(Communicator& world, rank_type sender) {
  int number = 0;
  tutti::recv{world}(number, sender);
}

void compute() {
  for (std::atomic<int> i = 0;; ++i) {
  }
}

constexpr char const* not_called = " has not called allreduce #1 of world: it ";
constexpr char const* two_wait = "; 2 ranks wait for it, the longest for T s";

void check(hanging_job const& job, std::string const& expected) {
  BOOST_TEST(job.explanation(expected) == expected);
  BOOST_TEST(job.saved_explanation(expected) == expected);
}
/// Checks also the dumps that the ranks write at a signal.
void check_signals(hanging_job const& job, std::string const& expected) {
  check(job, expected);
  job.signal_all();
  std::string const text = job.explanation_of_dumps(hanging_job::size);
  BOOST_TEST(hanging_job::first_line(text) == expected, text);
}
/// Checks the dumps that `writers` ranks write at a fault.
void check_faults(hanging_job const& job, std::size_t writers, std::string const& expected, std::string const& error) {
  std::string const text = job.explanation_of_dumps(writers);
  BOOST_TEST(hanging_job::first_line(text) == expected, text);
  BOOST_TEST(text.find("\nalso: the first error, of rank ") != text.npos, text);
  BOOST_TEST(text.find(error) != text.npos, text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_computes) {
  auto const hang = [](auto& world) { world.rank() == 2 ? compute() : sum_over(world); };
  for (auto const& job : {hanging_job::start<tutti::shared_memory>(hang), hanging_job::start<tutti::tcp>(hang)}) {
    check(job, job.rank(2) + not_called + "computes" + two_wait);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_is_stopped) {
  auto const job = hanging_job::start<tutti::shared_memory>([](auto& world) {
    if (world.rank() == 2) {
      ::raise(SIGSTOP);
    }
    sum_over(world);
  });
  check(job, job.rank(2) + not_called + "is stopped by a signal (SIGSTOP; SIGCONT continues it)" + two_wait);
}

// Ranks that wait notice a death by themselves, and end with an error. Here they compute.
BOOST_AUTO_TEST_CASE(a_rank_has_died) {
  auto const job =
      hanging_job::start<tutti::shared_memory>([](auto& world) { world.rank() == 2 ? ::_exit(1) : compute(); });
  check(job, job.rank(2) + " of world is gone; no rank waits for it yet");
}

BOOST_AUTO_TEST_CASE(a_rank_waits_in_another_operation) {
  auto const job = hanging_job::start<tutti::shared_memory>(
      [](auto& world) { world.rank() == 2 ? receive_from(world, 0) : sum_over(world); });
  check_signals(job, job.rank(2) + not_called +
                         "waits for rank 0 in send/recv #0 from rank 0 to rank 2 of world, for T s" + two_wait);
}

BOOST_AUTO_TEST_CASE(a_rank_waits_in_another_communicator) {
  auto const job = hanging_job::start<tutti::shared_memory>([](auto& world) {
    auto other = tutti::dup(world);
    world.rank() == 2 ? receive_from(other, 0) : sum_over(world);
  });
  check_signals(
      job, job.rank(2) +
               " has not called allreduce #2 of world: it waits for rank 0 in send/recv #0 from rank 0 to rank 2 of "
               "world/1:0, another communicator, for T s" +
               two_wait);
}

BOOST_AUTO_TEST_CASE(a_rank_waits_for_a_lock_of_the_program) {
  auto const job = hanging_job::start<tutti::shared_memory>([](auto& world) {
    if (world.rank() == 2) {
      static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      ::pthread_mutex_lock(&mutex);
      ::pthread_mutex_lock(&mutex);
    }
    sum_over(world);
  });
  check(job, job.rank(2) + not_called + "waits for a lock of the program" + two_wait);
}

// A process is in the same state while it waits for a disk as while it waits for the child of vfork.
BOOST_AUTO_TEST_CASE(a_rank_is_in_a_wait_that_no_signal_ends) {
  auto const job = hanging_job::start<tutti::shared_memory>([](auto& world) {
    if (world.rank() == 2 && ::vfork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::pause();
    }
    sum_over(world);
  });
  check(job, job.rank(2) + not_called + "waits for a disk or another device (uninterruptible, in F)" + two_wait);
}

std::string circle_of(hanging_job const& job) {
  return "ranks wait for each other: " + job.rank(0) +
         " waits for rank 1 in send/recv #0 from rank 1 to rank 0 of world, " + job.rank(1) +
         " waits for rank 2 in send/recv #0 from rank 2 to rank 1 of world, " + job.rank(2) +
         " waits for rank 0 in send/recv #0 from rank 0 to rank 2 of world, for T s";
}

BOOST_AUTO_TEST_CASE(ranks_wait_for_each_other) {
  auto const hang = [](auto& world) { receive_from(world, (world.rank() + 1) % world.size()); };
  for (auto const& job : {hanging_job::start<tutti::shared_memory>(hang), hanging_job::start<tutti::tcp>(hang)}) {
    check_signals(job, circle_of(job));
  }
}

BOOST_AUTO_TEST_CASE(ranks_wait_for_each_other_at_a_deadline) {
  auto const hang = [](auto& world) {
    tutti::recv receive{world};
    receive.deadline(std::chrono::milliseconds(500));
    int number = 0;
    receive(number, (world.rank() + 1) % world.size());
  };
  for (auto const& job : {hanging_job::start<tutti::shared_memory>(hang), hanging_job::start<tutti::tcp>(hang)}) {
    check_faults(job, hanging_job::size, circle_of(job), "ranks wait for each other: rank 0 (");
  }
}

// A rank that is in no wait at the signal does not know what it does.
BOOST_AUTO_TEST_CASE(a_rank_computes_at_a_signal) {
  auto const job = hanging_job::start<tutti::tcp>([](auto& world) { world.rank() == 2 ? compute() : sum_over(world); });
  check(job, job.rank(2) + not_called + "computes" + two_wait);
  job.signal_all();
  std::string const expected = job.rank(2) + not_called + "computes, or waits outside of tutti" + two_wait;
  BOOST_TEST(hanging_job::first_line(job.explanation_of_dumps(3)) == expected);
}

template <class Communicator>
void sum_within_a_deadline(Communicator& world) {
  int element = 1;
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  sum.deadline(std::chrono::milliseconds(300));
  sum(element);
}

BOOST_AUTO_TEST_CASE(a_rank_computes_at_a_deadline) {
  auto const hang = [](auto& world) { world.rank() == 2 ? compute() : sum_within_a_deadline(world); };
  for (auto const& job : {hanging_job::start<tutti::shared_memory>(hang), hanging_job::start<tutti::tcp>(hang)}) {
    check_faults(job, 2, job.rank(2) + not_called + "computes" + two_wait, "no answer from rank 2 (");
  }
}

BOOST_AUTO_TEST_CASE(a_rank_is_stopped_at_a_deadline) {
  auto const job = hanging_job::start<tutti::shared_memory>(
      [](auto& world) { world.rank() == 2 ? static_cast<void>(::raise(SIGSTOP)) : sum_within_a_deadline(world); });
  check_faults(job, 2, job.rank(2) + not_called + "is stopped by a signal (SIGSTOP; SIGCONT continues it)" + two_wait,
               "no answer from rank 2 (");
}

BOOST_AUTO_TEST_CASE(a_rank_waits_for_a_lock_at_a_deadline) {
  auto const job = hanging_job::start<tutti::tcp>([](auto& world) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&mutex);
    world.rank() == 2 ? static_cast<void>(::pthread_mutex_lock(&mutex)) : sum_within_a_deadline(world);
  });
  check_faults(job, 2, job.rank(2) + not_called + "waits for a lock of the program" + two_wait,
               "no answer from rank 2 (");
}

// A rank that dies writes no dump; the ranks that wait for it see its end.
BOOST_AUTO_TEST_CASE(a_rank_dies_while_others_wait) {
  auto const hang = [](auto& world) { world.rank() == 2 ? static_cast<void>(::raise(SIGSTOP)) : sum_over(world); };
  for (auto const& job : {hanging_job::start<tutti::shared_memory>(hang), hanging_job::start<tutti::tcp>(hang)}) {
    check(job, job.rank(2) + not_called + "is stopped by a signal (SIGSTOP; SIGCONT continues it)" + two_wait);
    job.kill(2);
    check_faults(job, 2, job.rank(2) + " of world is gone" + two_wait, "is gone");
  }
}

#else

BOOST_AUTO_TEST_CASE(hangs_are_explained) {
  std::puts("SKIP: the tool was not built, which needs CLI11");
}

#endif
