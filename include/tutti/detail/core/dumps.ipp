// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/bounded_text.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <span>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL int write_part(int file, operations_page const* page, dump_head& head,
                          operations_page::record& record) noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  head.now = steady_now().count();
  head.wall_clock = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  head.occupancy = 0;
  if (page != nullptr) {
    head.pid = page->pid.load(std::memory_order_relaxed);
    head.occupancy = page->occupancy.load(std::memory_order_relaxed);
    head.job.copy(page->job);
  }
  int code = write_file(file, std::as_bytes(std::span(&head, 1)));
  for (std::size_t i = 0; code == 0 && i < operations_page::record_count; ++i) {
    if ((head.occupancy >> i & 1U) != 0) {
      record.copy(page->records[i]);
      code = write_file(file, std::as_bytes(std::span(&record, 1)));
    }
  }
  return code;
}

/// A reason to write a dump.
struct dumps::request {
  std::uint64_t communicator = 0;  ///< communicator that failed; 0: a signal has come
  std::string_view error{};
  local_suspect culprit{};
  int code = 0;  ///< the errno of the failure
};

/// The settings are written before their generation. The rest is guarded by the lock of the operations page.
struct dumps::settings {
  inline static std::atomic<std::uint64_t> generation{0};  ///< fork generation, plus 1, of the process that set them
  inline static descriptor folder;
  inline static std::string path;
  inline static std::string prefix;  ///< first part of the names of the files

  inline static std::uint64_t faults[fault_limit]{};  ///< communicators whose faults have dumps
  inline static std::size_t fault_count = 0;
  inline static bool has_signal_dump = false;
  inline static dump_head head;
  inline static dump_head suspect_head;
  inline static operations_page::record record;

  [[nodiscard]] static bool are_set() noexcept {
    return generation.load(std::memory_order_acquire) == std::uint64_t{fork_guard::generation()} + 1;
  }
};

TUTTI_DECL void dumps::begin(std::string const& folder, rank_type rank) {
  if (settings::are_set()) {
    return;
  }
  descriptor place([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!place || ::faccessat(place.get(), ".", W_OK | X_OK, 0) != 0) {
    throw error(failure::join, "the environment: TUTTI_DUMPS=" + folder +
                                   " must be a folder that can be written to: " + describe_errno(errno));
  }
  take_signal();
  member const self = this_member();
  copy_bounded(self.host, settings::head.host);
  settings::folder = std::move(place);
  settings::path = folder;
  settings::prefix = (rank == no_rank ? "newcomer" : "rank-" + std::to_string(rank)) + "." + self.host.substr(0, 64) +
                     "." + std::to_string(self.pid);
  settings::fault_count = 0;
  settings::has_signal_dump = false;
  settings::generation.store(std::uint64_t{fork_guard::generation()} + 1, std::memory_order_release);
}

TUTTI_DECL void dumps::take_signal() {
  struct sigaction current {};
  ::sigaction(SIGUSR2, nullptr, &current);
  bool const is_free =
      (current.sa_flags & SA_SIGINFO) == 0 &&
      (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN || current.sa_handler == &on_signal);
  if (!is_free) {
    throw error(
        failure::join,
        "the environment: TUTTI_DUMPS needs SIGUSR2, for which this program has a handler: unset TUTTI_DUMPS, or "
        "leave the signal free");
  }
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(SIGUSR2, &action, nullptr);
}

TUTTI_DECL void dumps::on_signal(int) noexcept {
  int const saved_errno = errno;
  if (standard_numbers::are_usable_in_handler()) {
    request r;
    static_cast<void>(write(r, true));
  }
  errno = saved_errno;
}

TUTTI_DECL int dumps::write(std::uint64_t communicator, std::string_view error, local_suspect const& culprit) noexcept {
  request r{communicator, error, culprit};
  return write(r, false);
}

TUTTI_DECL int dumps::write(request& r, bool in_handler) noexcept {
  cancellation_shield const shield(cancellation_shield::points::silent);
  if (settings::are_set()) {
    record_owner::visit_page(
        [](operations_page const& page, void* object) {
          auto& request_of_caller = *static_cast<request*>(object);
          request_of_caller.code = store(page, request_of_caller);
        },
        &r, in_handler);
  }
  return r.code;
}

/// A name in the folder of dumps, in memory of the stack.
class dump_name {
 public:
  explicit dump_name(std::string_view prefix) noexcept { add(prefix); }

  dump_name& add(std::string_view part) noexcept {
    for (char const c : part) {
      if (length_ + 1 < sizeof text_) {
        text_[length_++] = c == '/' ? '_' : c;
      }
    }
    return *this;
  }
  /// Adds a number below 100.
  dump_name& add(std::size_t number) noexcept {
    char const digits[] = {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
    return add(std::string_view(digits, 2));
  }
  [[nodiscard]] char const* c_str() const noexcept { return text_; }

 private:
  char text_[256] = {};
  std::size_t length_ = 0;
};

TUTTI_DECL int dumps::store(operations_page const& page, request const& r) noexcept {
  bool const is_fault = r.communicator != 0;
  for (std::size_t i = 0; is_fault && i < settings::fault_count; ++i) {
    if (settings::faults[i] == r.communicator) {
      return 0;
    }
  }
  if (is_fault && settings::fault_count == fault_limit) {
    return 0;
  }
  dump_name name(settings::prefix);
  if (is_fault) {
    settings::faults[settings::fault_count++] = r.communicator;
    name.add(".fault-").add(settings::fault_count).add(".dump");
  } else {
    name.add(".signal.dump");
  }
  dump_name draft(name.c_str());
  draft.add(".draft");
  int const folder = settings::folder.get();
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  descriptor file([&] { return ::openat(folder, draft.c_str(), flags, 0600); });
  if (!file) {
    return errno;
  }
  settings::head.communicator = r.communicator;
  copy_bounded(r.error, settings::head.error);
  int code = write_part(file.get(), &page, settings::head, settings::record);
  if (code == 0 && r.culprit.pid != 0) {
    try {
      code = add_suspect(file.get(), r);
    } catch (...) {  // without memory, the part is left out
    }
  }
  if (::close(file.release()) != 0 && code == 0) {  // NFS may report a full disk only now
    code = errno;
  }
  bool has_reserved = false;
  if (code == 0 && (is_fault || !settings::has_signal_dump)) {  // an empty file: a file of others is not replaced
    descriptor const reservation([&] { return ::openat(folder, name.c_str(), flags, 0600); });
    has_reserved = static_cast<bool>(reservation);
    code = has_reserved ? 0 : errno;
  }
  if (code == 0 && ::renameat(folder, draft.c_str(), folder, name.c_str()) != 0) {
    code = errno;
  }
  if (code != 0) {
    ::unlinkat(folder, draft.c_str(), 0);
  }
  if (code != 0 && has_reserved) {
    ::unlinkat(folder, name.c_str(), 0);
  }
  settings::has_signal_dump = settings::has_signal_dump || (!is_fault && code == 0);
  return code;
}

/// Adds the part of the rank at fault. One that has no page is left out, unless it is lost and its process has ended.
TUTTI_DECL int dumps::add_suspect(int file, request const& r) {
  mapped_page const page(r.culprit.pid);
  bool const has_page = page && page.is_in_own_space(r.culprit.pid);
  std::size_t number = 0;
  std::uint32_t thread = 0;
  for (std::size_t i = 0; has_page && thread == 0 && i < operations_page::record_count; ++i) {
    if (((*page).occupancy.load(std::memory_order_relaxed) >> i & 1U) != 0 && (*page).records[i].tenancy() != 0) {
      communicator_facts const facts = (*page).records[i].facts();
      if (facts.identity == r.communicator && facts.rank == r.culprit.rank) {
        recorder::wait wait;
        number = i;
        thread = (*page).records[i].operations().read(wait) ? wait.thread : facts.thread;
      }
    }
  }
  std::uint32_t const observed_thread = thread != 0 ? thread : r.culprit.pid;
  constexpr duration interval = std::chrono::milliseconds(20);
  activity state{};
  thread_status status = status_of(r.culprit.pid, observed_thread);
  for (int looks = has_page ? 1 : r.culprit.is_lost ? 25 : 0; looks > 0 && state != activity::absent; --looks) {
    poll_until(nullptr, 0, steady_now() + interval);  // a process closes its connections before it has ended
    thread_status const next_status = status_of(r.culprit.pid, observed_thread);
    state = activity_of(status, next_status, interval);
    status = next_status;
  }
  if (!has_page && state != activity::absent) {
    return 0;
  }
  dump_head& head = settings::suspect_head;
  copy_bounded(bounded_text(settings::head.host), head.host);
  head.communicator = r.communicator;
  head.pid = r.culprit.pid;
  head.observations[number].state = state;
  copy_bounded(status.channel, head.observations[number].channel);
  int const code = write_part(file, thread != 0 ? &*page : nullptr, head, settings::record);
  head.observations[number] = {};
  return code;
}

TUTTI_DECL std::string dumps::describe_failure(int code) {
  return "; the dump in " + settings::path + " was not written: " + describe_write_error(code);
}

}  // namespace tutti::detail::core
