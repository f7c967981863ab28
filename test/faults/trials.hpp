// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <fstream>
#include <map>
#include <poll.h>
#include <sched.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace tutti::faults {

/// The words in a complaint by which a trial is counted as a defect of that class.
inline constexpr std::string_view hang = "[hang] ";
inline constexpr std::string_view wrong_number = "[wrong number] ";
inline constexpr std::string_view wrong_name = "[wrong name] ";
inline constexpr std::string_view leak = "[leak] ";
inline constexpr std::string_view defects[] = {hang, wrong_number, wrong_name, leak};

/// The first word of a trial's complaint if this machine cannot try it.
inline constexpr std::string_view not_tried = "[not tried] ";

/// The first complaint among the results of the ranks of a world.
template <class Results>
std::string first_complaint(Results const& results, char const* place) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    if (!complaint.empty()) {
      return std::string(place) + ", rank " + std::to_string(r) + ": " + complaint;
    }
  }
  return {};
}

/// A complaint about operations that nothing disturbs: a passed deadline is a hang, anything else a wrong number.
inline support::verdict classify_undisturbed(support::verdict const& complaint) {
  bool const is_late = complaint.find("deadline") != complaint.npos;
  return complaint.empty() ? complaint : std::string(is_late ? hang : wrong_number) + complaint;
}

inline std::set<std::string> names_in(char const* path) {
  std::set<std::string> names;
  if (DIR* const d = ::opendir(path); d != nullptr) {
    while (dirent const* const entry = ::readdir(d)) {
      names.insert(entry->d_name);
    }
    ::closedir(d);
  }
  return names;
}

/// Calls `work`, which returns a verdict, and complains if it leaves descriptors of this process open.
template <class Work>
support::verdict without_open_descriptors(Work&& work) {
  std::size_t const initial_count = names_in("/proc/self/fd").size();
  support::verdict complaint = work();
  std::size_t const final_count = names_in("/proc/self/fd").size();
  return final_count == initial_count ? complaint
                                      : complaint + "; " + std::string(leak) + std::to_string(final_count) +
                                            " descriptors, not " + std::to_string(initial_count);
}

/// The end of a pipe that a trial, and each process that it has started, holds open.
class lifeline {
 public:
  explicit lifeline(int end) noexcept : end_(end) {}
  lifeline(lifeline const&) = delete;
  lifeline& operator=(lifeline const&) = delete;
  ~lifeline() { ::close(end_); }

  /// Appends what is written until a zero. Returns false at the time limit.
  bool read_text(std::string& text, std::chrono::seconds limit) {
    while (!has_ended_ && text.find('\0') == text.npos) {
      if (!receive(text, limit)) {
        return false;
      }
    }
    text.resize(std::strlen(text.c_str()));
    return true;
  }
  /// Returns false if a process still holds the other end after the time limit.
  bool await_end(std::chrono::seconds limit) {
    std::string rest;
    while (!has_ended_ && receive(rest, limit)) {
    }
    return has_ended_;
  }

 private:
  bool receive(std::string& text, std::chrono::seconds limit) {
    char part[4096];
    pollfd entry{end_, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(limit).count())) == 0) {
      return false;
    }
    ssize_t const bytes = ::read(end_, part, sizeof part);
    has_ended_ = bytes == 0 || (bytes < 0 && errno != EINTR);
    text.append(part, static_cast<std::size_t>((std::max)(bytes, ssize_t{0})));
    return true;
  }

  int end_;
  bool has_ended_ = false;
};

/// Kills and reaps the children of this process, adopted ones included.
inline void end_children() {
  for (bool is_waiting = true; is_waiting;) {
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    for (pid_t child = 0; children >> child;) {
      ::kill(child, SIGKILL);
    }
    is_waiting = ::waitpid(-1, nullptr, 0) > 0;
  }
}

/// Gives this process and its children a /dev/shm of their own, where the system lets it (as root): what other programs
/// do there is no leak.
inline void separate_shared_memory() {
  if (::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
    ::mount("tutti-faults", "/dev/shm", "tmpfs", 0, "mode=1777");
  }
}

/// Runs a trial in a process of its own. Adds complaints if it hangs or dies, or leaves processes, descriptors or
/// shared memory behind.
/// @pre this process adopts orphans (PR_SET_CHILD_SUBREAPER)
template <class Trial>
support::verdict run_apart(Trial const& trial, std::uint64_t seed) {
  constexpr std::chrono::seconds patience{90};  // a trial takes seconds; on a crowded machine many more
  auto const files = names_in("/dev/shm");
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) {
    return "no pipe";
  }
  std::fflush(stdout);
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    support::verdict complaint = without_open_descriptors([&]() -> support::verdict {
      try {
        return trial(seed);
      } catch (std::exception const& e) {
        return std::string("the trial has thrown: ") + e.what();
      }
    });
    bool const is_written = ::write(ends[1], complaint.c_str(), complaint.size() + 1) > 0;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  lifeline line(ends[0]);
  support::verdict complaint;
  if (!line.read_text(complaint, patience)) {
    complaint += "; " + std::string(hang) + "not over after " + std::to_string(patience.count()) + " s";
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (complaint.empty() && status != 0) {
    complaint = "the trial's process ended with status " + std::to_string(status);
  }
  if (!line.await_end(std::chrono::seconds(10))) {
    complaint += "; " + std::string(leak) + "processes are left";
  }
  end_children();
  for (std::string const& name : names_in("/dev/shm")) {
    if (!files.contains(name) && name.find("tutti") != name.npos) {
      complaint += "; " + std::string(leak) + "/dev/shm/" + name + " is left";
    }
  }
  return complaint;
}

/// The findings of a program by kind of fault, printed as rows of a table.
class tally_sheet {
 public:
  void add(std::string const& kind, support::verdict const& complaint) {
    row& r = rows_[kind];
    ++r.trials;
    bool is_classified = complaint.empty();
    for (std::size_t i = 0; i < std::size(defects); ++i) {
      bool const is_found = complaint.find(defects[i]) != complaint.npos;
      r.defect_counts[i] += is_found ? 1U : 0U;
      is_classified = is_classified || is_found;
    }
    r.other_count += is_classified ? 0U : 1U;
  }
  void print() const {
    std::printf("| fault | trials | hangs | wrong numbers | wrong names | leaks | other |\n");
    for (auto const& [kind, r] : rows_) {
      std::printf("| %s | %lu | %lu | %lu | %lu | %lu | %lu |\n", kind.c_str(), r.trials, r.defect_counts[0],
                  r.defect_counts[1], r.defect_counts[2], r.defect_counts[3], r.other_count);
    }
  }

 private:
  struct row {
    unsigned long trials = 0;
    unsigned long defect_counts[std::size(defects)] = {};
    unsigned long other_count = 0;
  };
  std::map<std::string, row> rows_;
};

/// Runs `trial(seed)` for seed, seed + 1, ..., each in a process of its own, and reports each that fails with the seed
/// that repeats it; at the end a table of defects by kind of fault:
///
///     int main(int argc, char** argv) {
///       return run_trials(argc, argv, "what a trial does", 40, "kind of fault",
///                         [](std::uint64_t seed) -> support::verdict { ... });
///     }
///
/// `usual` is the number of trials in the test suite: a few seconds' worth. `--trials N --seed S` on the command line
/// override it; `--seconds T` begins trials until that time has passed. `kind` is a text, or a function of the seed
/// that returns one. A failed trial ends none of the others; the exit status is 1 if any failed, and 2 if the command
/// line is wrong.
template <class Kind, class Trial>
int run_trials(int argc, char** argv, char const* description, std::uint64_t usual, Kind const& kind,
               Trial const& trial) {
  using clock = std::chrono::steady_clock;
  std::uint64_t trials = usual;
  std::uint64_t first = 1;
  std::uint64_t seconds = 0;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const option = argv[i];
    std::uint64_t* const value = option == "--trials"    ? &trials
                                 : option == "--seed"    ? &first
                                 : option == "--seconds" ? &seconds
                                                         : nullptr;
    std::string_view const text = i + 1 < argc ? argv[i + 1] : "";
    if (value == nullptr || text.empty() ||
        std::from_chars(text.data(), text.data() + text.size(), *value).ptr != text.data() + text.size()) {
      std::fprintf(stderr, "%s: %s\nusage: %s [--trials N (%lu) | --seconds T] [--seed S (1)]\n", argv[0], description,
                   argv[0], static_cast<unsigned long>(usual));
      return 2;
    }
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  separate_shared_memory();

  tally_sheet sheet;
  std::set<std::string> skipped_kinds;
  std::uint64_t count = 0;
  std::uint64_t failures = 0;
  auto const begin = clock::now();
  auto last_report = begin;
  auto const has_ended = [&] {
    return seconds == 0 ? count == trials : count != 0 && clock::now() - begin >= std::chrono::seconds(seconds);
  };
  for (; !has_ended(); ++count) {
    std::uint64_t const seed = first + count;
    std::string name;
    if constexpr (std::is_invocable_v<Kind const&, std::uint64_t>) {
      name = kind(seed);
    } else {
      name = kind;
    }
    support::verdict const complaint = run_apart(trial, seed);
    if (complaint.starts_with(not_tried)) {
      if (skipped_kinds.insert(name).second) {
        std::printf("%s: not tried: %s\n", name.c_str(), complaint.c_str() + not_tried.size());
      }
      continue;
    }
    sheet.add(name, complaint);
    if (!complaint.empty()) {
      ++failures;
      std::printf("seed %lu: %s: %s\n", static_cast<unsigned long>(seed), name.c_str(), complaint.c_str());
    }
    if (clock::now() - last_report > std::chrono::seconds(10)) {
      last_report = clock::now();
      std::printf("%lu trials, %lu failed\n", static_cast<unsigned long>(count + 1),
                  static_cast<unsigned long>(failures));
    }
    std::fflush(stdout);
  }
  sheet.print();
  std::printf("%lu trials from seed %lu, %lu failed\n", static_cast<unsigned long>(count),
              static_cast<unsigned long>(first), static_cast<unsigned long>(failures));
  return failures == 0 ? 0 : 1;
}

}  // namespace tutti::faults
