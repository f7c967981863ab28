// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <sys/types.h>
#include <system_error>

namespace tutti::faults {

inline constexpr rank_type max_ranks = 6;

/// The state that all processes of a trial share.
struct board {
  std::atomic<pid_t> pid[max_ranks];
  std::atomic<std::uint16_t> port[max_ranks];  ///< ports of the ranks' own listeners, 0 until they are known
  std::atomic<long> operations[max_ranks];     ///< number begun
  std::atomic<std::uint32_t> struck_ranks;     ///< a bit for each rank at an end of the connection that was struck
  std::atomic<bool> has_begun;                 ///< the unknown peers have begun
  std::atomic<bool> is_over;

  /// True if all ranks have begun an operation after their first.
  [[nodiscard]] bool is_under_way(rank_type ranks) const {
    for (rank_type r = 0; r < ranks; ++r) {
      if (operations[r] < 2) {
        return false;
      }
    }
    return true;
  }
};

/// Owns a board that forked processes share.
class shared_board {
 public:
  shared_board() : page_(::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
    ::new (page_) board{};
  }
  shared_board(shared_board const&) = delete;
  shared_board& operator=(shared_board const&) = delete;
  ~shared_board() { ::munmap(page_, sizeof(board)); }

  board& operator*() const noexcept { return *static_cast<board*>(page_); }
  board* operator->() const noexcept { return static_cast<board*>(page_); }

 private:
  void* page_;
};

}  // namespace tutti::faults
