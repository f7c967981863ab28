// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline core {

/// The activity of a thread, as the system reports it.
enum class activity : std::uint8_t {
  unknown,   ///< not observed
  computes,  ///< runs, or is ready to run
  sleeps,    ///< waits in the system for something else than the following
  on_lock,   ///< waits for a lock of the program
  on_disk,   ///< is in a wait that signals do not end
  stopped,   ///< by a signal
  traced,    ///< stopped by a debugger
  absent     ///< has ended
};

/// A thread, as the system describes it.
struct thread_status {
  char state = 'X';  ///< letter of /proc/PID/stat; X: there is none
  std::string channel{};
  std::uint64_t run_time_ns = 0;
};

/// The names in a folder that are numbers.
[[nodiscard]] TUTTI_DECL std::vector<std::uint32_t> numbers_in(std::string const& folder);

/// The status of a thread of a process; of its main thread, if that thread has ended.
[[nodiscard]] TUTTI_DECL thread_status status_of(std::uint32_t pid, std::uint32_t thread);

/// The activity of a thread that was in the first state, and then in the second one.
[[nodiscard]] TUTTI_DECL activity activity_of(thread_status const& first, thread_status const& second,
                                              duration interval);

/// The operations page of another process, mapped. Whatever it holds, reading it is safe.
class mapped_page {
 public:
  /// Empty if the process has no page, or one that this program cannot read.
  TUTTI_DECL explicit mapped_page(std::uint32_t pid);
  mapped_page(mapped_page&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  mapped_page& operator=(mapped_page&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~mapped_page() { unmap(); }

  [[nodiscard]] explicit operator bool() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] operations_page const& operator*() const noexcept { return *memory_; }
  [[nodiscard]] std::string job() const { return memory_->job.load(); }
  /// True if the process is known here by the number that other ranks know it by.
  [[nodiscard]] bool is_in_own_space(std::uint32_t pid) const noexcept { return memory_->pid.load() == pid; }

 private:
  TUTTI_DECL void map(descriptor const& file);
  TUTTI_DECL void unmap() noexcept;

  operations_page const* memory_ = nullptr;
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/process_look.ipp>
#endif
