// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/memory_source.hpp>
#include <tutti/core/monitor.hpp>
#include <tutti/transport/shared_file.hpp>

#include <vector>

namespace tutti {

/// The shared memory of a host has no room for a buffer.
struct out_of_shared_memory : std::bad_alloc {
  [[nodiscard]] char const* what() const noexcept override {
    return "no shared memory is left for a buffer: free some memory, enlarge "
           "shared_memory_options::arena_bytes, or use ordinary memory";
  }
};

/// One rank's part of the shared file, out of which its allocators take buffers that peers can read.
///
/// Only this rank keeps book of it. Free pieces are kept in order of address and merged; the first that
/// is large enough is taken. Memory comes from the system when it is first used and goes back with the
/// world and the last buffer. Thread-safe. Cost: linear in the number of free pieces.
template <class File>
class basic_shared_arena : public memory_source {
 public:
  static counted<basic_shared_arena> create() { return counted<basic_shared_arena>(new basic_shared_arena); }

  /// Where the arena lies in the file: both known only after the file has been made.
  void place(std::size_t begin, std::size_t bytes) {
    free_.assign(1, {begin, bytes});
    committed_ = begin;
  }

  File file;

 private:
  struct piece {
    std::size_t begin;
    std::size_t bytes;
  };

  basic_shared_arena() noexcept
      : memory_source([](memory_source& s, std::size_t n) { return self(s).allocate(n); },
                      [](memory_source& s, void* p, std::size_t n) noexcept {
                        self(s).deallocate(static_cast<std::byte*>(p), n);
                      },
                      [](memory_source& s) noexcept { delete &self(s); }) {}

  static basic_shared_arena& self(memory_source& s) noexcept { return static_cast<basic_shared_arena&>(s); }

  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  }

  void* allocate(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) {
      throw out_of_shared_memory();
    }
    std::size_t const size = rounded(bytes);
    held const lock(guard_);
    free_.reserve(buffers_ + 2);  // never more free pieces than that, so giving back cannot fail
    for (std::size_t i = 0; i < free_.size(); ++i) {
      piece& p = free_[i];
      if (p.bytes < size) {
        continue;
      }
      std::size_t const end = p.begin + size;
      if (end > committed_) {
        // Asked for now, a shortage is an exception; on the first touch it would be a SIGBUS.
        if (!file.commit(committed_, end)) {
          break;
        }
        committed_ = end;
      }
      std::byte* const at = file.base() + p.begin;
      p = {end, p.bytes - size};
      if (p.bytes == 0) {
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      ++buffers_;
      return at;
    }
    throw out_of_shared_memory();
  }

  void deallocate(std::byte* memory, std::size_t bytes) noexcept {
    piece const back{static_cast<std::size_t>(memory - file.base()), rounded(bytes)};
    held const lock(guard_);
    --buffers_;
    std::size_t i = 0;
    while (i < free_.size() && free_[i].begin < back.begin) {
      ++i;
    }
    bool const joins_left = i != 0 && free_[i - 1].begin + free_[i - 1].bytes == back.begin;
    bool const joins_right = i < free_.size() && back.begin + back.bytes == free_[i].begin;
    auto const here = free_.begin() + static_cast<std::ptrdiff_t>(i);
    if (joins_left && joins_right) {
      free_[i - 1].bytes += back.bytes + free_[i].bytes;
      free_.erase(here);
    } else if (joins_left) {
      free_[i - 1].bytes += back.bytes;
    } else if (joins_right) {
      free_[i] = {back.begin, back.bytes + free_[i].bytes};
    } else {
      free_.insert(here, back);
    }
  }

  monitor guard_;
  std::vector<piece> free_;
  std::size_t buffers_ = 0;    ///< how many are in use
  std::size_t committed_ = 0;  ///< up to here the system has given memory
};

using shared_arena = basic_shared_arena<shared_file>;

}  // namespace tutti
