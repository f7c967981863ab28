// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views.hpp"
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/extend/member.hpp>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inspect {

using tutti::detail::communicator_facts;
using tutti::detail::communicator_record;
using tutti::detail::descriptor;
using tutti::detail::operations_page;

/// The first bytes of a file below /proc; empty if it cannot be read.
[[nodiscard]] inline std::string read_file(std::string const& path) {
  char text[4096];
  descriptor const file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  ssize_t const bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  return std::string(text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
}

/// The names in a folder that are numbers.
[[nodiscard]] inline std::vector<std::uint32_t> numbers_in(std::string const& folder) {
  std::vector<std::uint32_t> numbers;
  DIR* const list = ::opendir(folder.c_str());
  while (dirent const* const entry = list != nullptr ? ::readdir(list) : nullptr) {
    std::string_view const name = entry->d_name;
    std::uint32_t number = 0;
    if (auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        error == std::errc() && end == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  if (list != nullptr) {
    ::closedir(list);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

[[nodiscard]] inline std::string folder_of(std::uint32_t pid) {
  return "/proc/" + std::to_string(pid);
}

/// Replaces control characters, which a terminal would obey.
template <class Text>
void make_printable(Text& text) {
  std::replace_if(
      std::begin(text), std::end(text),
      [](char c) { return c != 0 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); }, '?');
}

/// Calls `f(view&&, facts)` for each communicator of a page, with what the page knows of it.
/// @param record_at the record of a number
/// @param clock the steady clock of the process
template <class RecordAt, class Clock, class F>
void for_each_view(std::uint64_t occupancy, RecordAt record_at, Clock clock, F f) {
  for (std::size_t i = 0; i < operations_page::record_count; ++i) {
    if ((occupancy >> i & 1U) == 0) {
      continue;
    }
    communicator_record const& record = record_at(i);
    std::uint64_t const tenancy = record.tenancy();
    communicator_facts facts = record.facts();
    view v;
    record.operations().for_each([&](tutti::recorder::entry e) {
      make_printable(e.label);
      make_printable(e.call_record.element);
      make_printable(e.call_record.reduction);
      make_printable(e.call_record.topology);
      v.operations.push_back(e);
    });
    if (tutti::recorder::wait wait; record.operations().read(wait) && wait.begin >= tutti::time_point{} &&
                                    wait.last_look >= wait.begin && wait.last_look <= clock()) {
      v.noted_wait = wait;
    }
    if (tenancy != 0 && record.tenancy() == tenancy && facts.rank < facts.size) {
      v.communicator = facts.identity;
      v.name = facts.name;
      make_printable(v.name);
      v.rank = facts.rank;
      v.size = facts.size;
      v.thread = v.noted_wait ? v.noted_wait->thread : facts.thread;
      v.record = i;
      f(std::move(v), facts);
    }
  }
}

/// A view of a rank that only other ranks name.
[[nodiscard]] inline view view_without_record(communicator_facts const& facts,
                                              tutti::detail::local_member const& member, std::string const& name,
                                              std::string const& host) {
  view v;
  v.communicator = facts.identity;
  v.name = name;
  v.rank = member.rank;
  v.size = facts.size;
  v.host = host;
  v.pid = v.thread = member.pid;
  v.has_record = false;
  return v;
}

/// Sorts views by communicator and rank.
inline void sort(std::vector<view>& views) {
  std::sort(views.begin(), views.end(), [](view const& a, view const& b) {
    return std::tie(a.name, a.communicator, a.rank) < std::tie(b.name, b.communicator, b.rank);
  });
}

/// The operations page of another process, mapped. Whatever it holds, reading it is safe.
class mapped_page {
 public:
  /// Empty if the process has no page, or one that this program cannot read.
  explicit mapped_page(std::uint32_t pid) {
    std::string const folder = folder_of(pid) + "/fd/";
    std::string const page_link = "/memfd:" + std::string(operations_page::file_name) + " (deleted)";
    for (std::uint32_t const number : numbers_in(folder)) {
      std::string const path = folder + std::to_string(number);
      char target[64];
      ssize_t const length = ::readlink(path.c_str(), target, sizeof target);
      if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == page_link) {
        map(descriptor([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
        if (memory_ != nullptr && memory_->pid.load() == number_in_own_space(pid)) {
          return;
        }
        unmap();  // a page of its parent, or of another version
      }
    }
  }
  mapped_page(mapped_page&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  mapped_page& operator=(mapped_page&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~mapped_page() { unmap(); }

  [[nodiscard]] explicit operator bool() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] std::string job() const { return memory_->job.load(); }
  /// True if the process is known here by the number that other ranks know it by.
  [[nodiscard]] bool is_in_own_space(std::uint32_t pid) const noexcept { return memory_->pid.load() == pid; }

  [[nodiscard]] operations_page const& operator*() const noexcept { return *memory_; }

  /// Calls `f(view&&, facts)` for each communicator, with what the page knows of it.
  template <class F>
  void for_each(F f) const {
    for_each_view(
        memory_->occupancy.load(std::memory_order_relaxed),
        [&](std::size_t i) -> communicator_record const& { return memory_->records[i]; },
        [] { return tutti::steady_now(); }, f);
  }

 private:
  void map(descriptor const& file) {
    struct stat status {};
    // A file that cannot shrink cannot end this process by SIGBUS.
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_size) < sizeof(operations_page) ||
        (::fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
      return;
    }
    void* const place = ::mmap(nullptr, sizeof(operations_page), PROT_READ, MAP_SHARED, file.get(), 0);
    if (place == MAP_FAILED) {
      return;
    }
    memory_ = static_cast<operations_page const*>(place);
    if (memory_->magic.load() != operations_page::magic_word ||
        memory_->layout.load() != operations_page::layout_number || memory_->bytes.load() != sizeof(operations_page)) {
      unmap();
    }
  }
  void unmap() {
    if (memory_ != nullptr) {
      ::munmap(const_cast<operations_page*>(std::exchange(memory_, nullptr)), sizeof(operations_page));
    }
  }
  /// The number of a process as it sees itself, in its PID namespace.
  [[nodiscard]] static std::uint64_t number_in_own_space(std::uint32_t pid) {
    std::string const status = read_file(folder_of(pid) + "/status");
    auto const begin = status.find("\nNSpid:");
    auto const end = begin == status.npos ? begin : status.find('\n', begin + 1);
    if (end == status.npos) {
      return pid;
    }
    std::string_view const line(status.data() + begin, end - begin);
    std::string_view const last = line.substr(line.find_last_of("\t ") + 1);
    std::uint64_t number = pid;
    std::from_chars(last.data(), last.data() + last.size(), number);
    return number;
  }

  operations_page const* memory_ = nullptr;
};

/// A thread, as the system describes it.
struct thread_status {
  char state = 'X';  ///< letter of /proc/PID/stat; X: there is none
  std::string channel{};
  std::uint64_t run_time_ns = 0;
};

[[nodiscard]] inline thread_status status_of(std::uint32_t pid, std::uint32_t thread) {
  std::string folder = folder_of(pid) + "/task/" + std::to_string(thread);
  std::string text = read_file(folder + "/stat");
  if (text.empty()) {  // the thread has ended: the main thread stands for it
    folder = folder_of(pid);
    text = read_file(folder + "/stat");
  }
  thread_status status;
  auto const name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 2 >= text.size()) {
    return status;
  }
  status.state = text[name_end + 2];
  status.channel = read_file(folder + "/wchan");
  std::string const times = read_file(folder + "/schedstat");
  std::from_chars(times.data(), times.data() + times.size(), status.run_time_ns);
  return status;
}

/// The processor time of all threads of a process; 0 if it is not known.
[[nodiscard]] inline tutti::duration run_time_of(std::uint32_t pid) {
  clockid_t clock{};
  timespec time{};
  return ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0 && ::clock_gettime(clock, &time) == 0
             ? std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)
             : tutti::duration{};
}

/// The activity of a thread that was in the first state, and then in the second one.
[[nodiscard]] inline activity activity_of(thread_status const& first, thread_status const& second,
                                          tutti::duration interval) {
  auto const is_in = [&](auto... words) { return ((second.channel.find(words) != std::string::npos) || ...); };
  bool const has_run = second.run_time_ns - first.run_time_ns > static_cast<std::uint64_t>(interval.count()) / 4;
  switch (second.state) {
    case 'R':
      return activity::computes;
    case 'T':
      return activity::stopped;
    case 't':
      return activity::traced;
    case 'D':
      return activity::on_disk;
    case 'X':
    case 'Z':
      return activity::absent;
    default:
      return has_run                                                     ? activity::computes
             : is_in("futex")                                            ? activity::on_lock
             : is_in("io_schedule", "folio_wait", "nfs", "rpc_", "fuse") ? activity::on_disk
                                                                         : activity::sleeps;
  }
}

/// All that can be seen of these processes, and of the other ranks of their communicators on this host. `interval`:
/// time for which their use of processors is observed.
[[nodiscard]] inline sight look_at(std::vector<std::uint32_t> const& pids,
                                   std::chrono::milliseconds interval = std::chrono::milliseconds(20)) {
  sight scene;
  std::map<std::uint32_t, mapped_page> pages;
  std::map<std::pair<std::uint64_t, tutti::rank_type>, view> missing;
  std::vector<std::uint32_t> open_pids = pids;
  std::string const host = tutti::host_name();
  while (!open_pids.empty()) {
    std::uint32_t const pid = open_pids.back();
    open_pids.pop_back();
    auto const [place, is_new] = pages.try_emplace(pid, pid);
    if (!is_new || !place->second) {
      continue;
    }
    place->second.for_each([&](view&& v, communicator_facts const& facts) {
      v.pid = pid;
      v.host = host;
      for (auto const& member : facts.local_members) {
        if (member.rank < facts.size && place->second.is_in_own_space(pid)) {
          missing.emplace(std::pair(facts.identity, member.rank), view_without_record(facts, member, v.name, host));
          open_pids.push_back(member.pid);
        }
      }
      scene.views.push_back(std::move(v));
    });
  }
  for (view const& v : scene.views) {
    missing.erase({v.communicator, v.rank});
  }
  for (auto& [key, v] : missing) {
    scene.views.push_back(std::move(v));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, thread_status> first;
  std::map<std::uint32_t, tutti::duration> run_times;
  for (view const& v : scene.views) {
    first.try_emplace({v.pid, v.thread}, status_of(v.pid, v.thread));
    run_times.try_emplace(v.pid, run_time_of(v.pid));
  }
  std::this_thread::sleep_for(interval);
  for (view& v : scene.views) {
    thread_status const& first_status = first.at({v.pid, v.thread});
    thread_status const now = status_of(v.pid, v.thread);
    v.state = activity_of(first_status, now, interval);
    v.channel = now.channel;
    tutti::duration const rest =
        run_time_of(v.pid) - run_times.at(v.pid) - std::chrono::nanoseconds(now.run_time_ns - first_status.run_time_ns);
    v.others_compute = v.state != activity::computes && rest > interval / 2;
  }
  sort(scene.views);
  scene.now = tutti::steady_now();
  return scene;
}

/// The processes of this user that have a page; with `job`, only the members of that job.
[[nodiscard]] inline std::vector<std::uint32_t> find_processes(std::optional<std::string> const& job) {
  std::vector<std::uint32_t> pids;
  for (std::uint32_t const pid : numbers_in("/proc")) {
    struct stat status {};
    if (::stat(folder_of(pid).c_str(), &status) == 0 && status.st_uid == ::geteuid()) {
      if (mapped_page const page(pid); page && (!job || page.job() == *job)) {
        pids.push_back(pid);
      }
    }
  }
  return pids;
}

/// Divides a sight into worlds: ranks that have a communicator or a process in common.
[[nodiscard]] inline std::vector<sight> by_world(sight const& scene) {
  std::vector<std::size_t> group(scene.views.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i] = i;
    for (std::size_t k = 0; k < i; ++k) {
      if (scene.views[k].communicator == scene.views[i].communicator ||
          are_of_one_process(scene.views[k], scene.views[i])) {
        std::size_t const number = group[k];
        std::replace(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(i) + 1, number, group[i]);
      }
    }
  }
  std::vector<sight> worlds;
  for (std::size_t const g : std::set<std::size_t>(group.begin(), group.end())) {
    worlds.push_back({scene.now, {}, scene.is_from_dumps});
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] == g) {
        worlds.back().views.push_back(scene.views[i]);
      }
    }
  }
  return worlds;
}

}  // namespace inspect
