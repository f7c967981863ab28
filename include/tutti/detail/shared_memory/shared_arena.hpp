// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/shared_memory/shared_file.hpp>
#include <tutti/detail/shared_memory/window_table.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/memory_source.hpp>

#include <atomic>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Reports that the shared memory of a host has no room for a buffer, and why, if that is known.
class out_of_shared_memory : public std::bad_alloc {
 public:
  explicit out_of_shared_memory(std::string_view reason = {}) noexcept {
    std::string_view const parts[] = {"no shared memory is left for a buffer", reason.empty() ? "" : ": ", reason,
                                      "; free some memory or address space (ulimit -v), enlarge "
                                      "shared_memory_options::arena_bytes, or use ordinary memory"};
    std::size_t end = 0;
    for (std::string_view const part : parts) {
      end += part.copy(text_ + end, sizeof text_ - 1 - end);
    }
  }
  [[nodiscard]] char const* what() const noexcept override { return text_; }

 private:
  char text_[384] = {};
};

/// The shared memory of a host as mapped by one process: its own part, from which its allocators take buffers that
/// peers can read, and the parts of its peers.
///
/// A part consists of windows, each contiguous in the file. Its owner maps a new one when the others are full, as
/// large as all of them together; a peer maps it when it first reads there. So unused address space is not taken. Only
/// the owner allocates in a part: first fit among free ranges, which are sorted by address and merged. Memory is taken
/// from the system on first use, and returned with the world, its split worlds and the last buffer. Thread-safe. Cost:
/// linear in the number of free ranges.
/// @tparam File shared_file; private_file if there is one process; a test has a host with less memory
template <class File>
class basic_shared_arena : public memory_source {
 public:
  static intrusive_pointer<basic_shared_arena> create() {
    return intrusive_pointer<basic_shared_arena>(new basic_shared_arena);
  }

  /// Sets the table of all windows, the rank of this part and the limit of its buffers, once the file is made.
  void set_table(window_table const& table, rank_type me, std::size_t limit) {
    // Sums of lengths must not overflow, and offsets must fit beside a window's number.
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << (window_shift - 2);
    constexpr std::size_t longest = SIZE_MAX / 4 < max_bytes ? SIZE_MAX / 4 : static_cast<std::size_t>(max_bytes);
    me_ = me;
    limit_ = limit < longest ? limit : longest;
    mappings_ = owned_array<std::atomic<std::byte*>>(std::size_t{table.ranks()} * window_table::max_windows);
    for (std::size_t i = 0; i < std::size_t{table.ranks()} * window_table::max_windows; ++i) {
      mappings_[i].store(nullptr, std::memory_order_relaxed);
    }
    table_ = table;
  }

  /// Allocates memory that `ranks` ranks use, until as many have called `end_use`.
  [[nodiscard]] std::byte* allot(std::size_t bytes, rank_type ranks) {
    expect_owner();
    monitor_lock const lock(mutex_);
    take_back();
    allotments_.reserve(allotments_.size() + 1);
    std::byte* const memory = take_range(round_up(header + bytes));
    new (memory) std::atomic<std::uint32_t>(0);
    allotments_.push_back({memory, header + bytes, ranks});
    return memory + header;
  }
  /// Ends the use of allotted memory by this many ranks.
  static void end_use(std::byte* memory, rank_type ranks) noexcept {
    std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(memory - header))
        ->fetch_add(ranks, std::memory_order_release);
  }

  /// The location by which other ranks find an address, or 0 if it is not in this rank's part.
  [[nodiscard]] std::uint64_t locate(void const* address) const noexcept {
    std::uint32_t const count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uintptr_t const offset =
          reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(own_windows_[i].base);
      if (offset < own_windows_[i].bytes) {
        return std::uint64_t{i + 1} << window_shift | offset;
      }
    }
    return 0;
  }
  /// The address in this process of a location in the part of `owner`.
  /// @throws error(failure::protocol) if there is no address space to map it
  [[nodiscard]] std::byte* address_of(rank_type owner, std::uint64_t location) {
    auto const i = static_cast<std::uint32_t>(location >> window_shift) - 1;
    std::byte* base = mapping(owner, i).load(std::memory_order_acquire);
    if (base == nullptr) [[unlikely]] {
      base = map(owner, i);
    }
    return base + integer_cast<std::size_t>(location & ((std::uint64_t{1} << window_shift) - 1));
  }
  File file;

 private:
  static constexpr int window_shift = 48;
  static constexpr std::size_t header = alignment;  ///< counts the ranks that have ended their use
  static constexpr std::size_t least_window = std::size_t{16} << 20;

  struct range {
    std::byte* begin;
    std::size_t bytes;
    [[nodiscard]] std::byte* end() const noexcept { return begin + bytes; }
  };
  struct window {
    std::byte* base;
    std::size_t bytes;
    std::uint64_t begin;          ///< in the file
    std::size_t committed_bytes;  ///< bytes for which the system has given memory
  };
  struct allotment {
    std::byte* memory;
    std::size_t bytes;
    rank_type ranks;
  };

  basic_shared_arena() noexcept
      : memory_source([](memory_source& s, std::size_t n) { return self(s).allocate(n); },
                      [](memory_source& s, void* p, std::size_t n) noexcept {
                        monitor_lock const lock(self(s).mutex_);
                        self(s).used_bytes_ -= round_up(n);
                        self(s).deallocate(static_cast<std::byte*>(p), n);
                      },
                      [](memory_source& s) noexcept { delete &self(s); },
                      [](memory_source& s, void const* address) { return self(s).committed_around(address); }) {}

  ~basic_shared_arena() {
    for (rank_type r = 0; r < table_.ranks(); ++r) {
      for (std::uint32_t i = 0; i < window_table::max_windows; ++i) {
        if (std::byte* const base = mapping(r, i).load(std::memory_order_relaxed); base != nullptr) {
          File::unmap(base, table_.at(r, i).bytes.load(std::memory_order_relaxed));
        }
      }
    }
  }

  /// Refuses a forked child: it would allocate the same ranges as its parent.
  void expect_owner() const {
    expects(owner_ == fork_guard::generation(),
            "tutti::allocator: this memory belongs to the process that forked this one; allocate in ordinary memory");
  }

  static basic_shared_arena& self(memory_source& s) noexcept { return static_cast<basic_shared_arena&>(s); }

  [[nodiscard]] std::atomic<std::byte*>& mapping(rank_type r, std::uint32_t i) const noexcept {
    return mappings_[std::size_t{r} * window_table::max_windows + i];
  }

  [[nodiscard]] static std::size_t round_up(std::size_t bytes) noexcept {
    return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  }

  std::byte* map(rank_type owner, std::uint32_t i) {
    monitor_lock const lock(mutex_);
    std::atomic<std::byte*>& base = mapping(owner, i);
    if (base.load(std::memory_order_relaxed) == nullptr) {
      auto const& w = table_.at(owner, i);
      std::size_t const bytes = w.bytes.load(std::memory_order_relaxed);
      std::byte* const address = file.map(w.begin.load(std::memory_order_relaxed), bytes);
      if (address == nullptr) {
        throw error(failure::protocol, "cannot map " + std::to_string(bytes) +
                                           " bytes of another rank's buffers: " + describe_errno(errno) +
                                           "; allow more address space (ulimit -v), or use ordinary memory for them");
      }
      base.store(address, std::memory_order_release);
    }
    return base.load(std::memory_order_relaxed);
  }

  /// The committed bytes of the window around an address.
  [[nodiscard]] std::span<std::byte const> committed_around(void const* address) const {
    std::uint64_t const location = locate(address);
    if (location == 0) {
      return {};
    }
    monitor_lock const lock(mutex_);
    window const& w = own_windows_[(location >> window_shift) - 1];
    return {w.base, w.committed_bytes};
  }

  void* allocate(std::size_t bytes) {
    expect_owner();
    monitor_lock const lock(mutex_);
    take_back();
    if (bytes > limit_ || round_up(bytes) > limit_ - used_bytes_) {
      throw out_of_shared_memory();
    }
    void* const memory = take_range(round_up(bytes));
    used_bytes_ += round_up(bytes);
    return memory;
  }

  /// Returns the beginning of the first free range of this size.
  std::byte* take_range(std::size_t size) {
    // Reserved for the most ranges possible: deallocation cannot fail.
    free_.reserve(used_ranges_ + count_.load(std::memory_order_relaxed) + 2);
    std::size_t i = 0;
    while (i < free_.size() && free_[i].bytes < size) {
      ++i;
    }
    i = i < free_.size() ? i : open_window(size);
    range& p = free_[i];
    // A shortage is an exception here; on the first touch it would be a SIGBUS.
    if (std::string const shortage = commit(p.begin + size); !shortage.empty()) {
      throw out_of_shared_memory(shortage);
    }
    std::byte* const memory = p.begin;
    p = {p.begin + size, p.bytes - size};
    if (p.bytes == 0) {
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ++used_ranges_;
    return memory;
  }

  /// Commits memory up to `end`. Returns the cause of a shortage, or "".
  [[nodiscard]] std::string commit(std::byte const* end) {
    for (std::uint32_t i = 0;; ++i) {
      window& w = own_windows_[i];
      std::size_t const end_offset = reinterpret_cast<std::uintptr_t>(end) - reinterpret_cast<std::uintptr_t>(w.base);
      if (end_offset > w.bytes) {
        continue;  // in another window
      }
      if (end_offset > w.committed_bytes) {
        if (std::string shortage = file.commit(w.begin + w.committed_bytes, w.begin + end_offset); !shortage.empty()) {
          return shortage;
        }
        w.committed_bytes = end_offset;
      }
      return {};
    }
  }

  /// Opens a window with room for `size` bytes, and returns the index of its free range. The extra page separates
  /// windows, and keeps equal buffers of two ranks from being a power of two apart. A first-level cache that predicts
  /// its way by a hash of lower address bits (AMD's: Lipp and others, Take A Way, 2020) could not hold both lines.
  TUTTI_COLD std::size_t open_window(std::size_t size) {
    std::uint32_t const i = count_.load(std::memory_order_relaxed);
    if (i == window_table::max_windows) {
      throw out_of_shared_memory();
    }
    std::size_t const page = page_bytes();
    std::size_t const needed_bytes = (size + page - 1) / page * page;
    std::size_t const preferred_bytes = window_bytes_ < least_window ? least_window : window_bytes_;
    for (std::size_t bytes = needed_bytes < preferred_bytes ? preferred_bytes : needed_bytes;; bytes = needed_bytes) {
      std::uint64_t const begin = table_.reserve(bytes + page);
      std::byte* const base = file.map(begin, bytes + page);
      if (base == nullptr) {
        table_.unreserve(begin, bytes + page);
        if (bytes == needed_bytes) {
          throw out_of_shared_memory();
        }
        continue;  // takes as little address space as possible
      }
      own_windows_[i] = {base, bytes, begin, 0};
      table_.at(me_, i).begin.store(begin, std::memory_order_relaxed);
      table_.at(me_, i).bytes.store(bytes + page, std::memory_order_relaxed);
      mapping(me_, i).store(base, std::memory_order_relaxed);  // locations there become known later
      count_.store(i + 1, std::memory_order_release);
      window_bytes_ += bytes;
      free_.reserve(used_ranges_ + i + 3);
      std::size_t at = 0;
      while (at < free_.size() && free_[at].begin < base) {
        ++at;
      }
      free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(at), {base, bytes});
      return at;
    }
  }

  /// Frees allotments whose use all ranks have ended.
  void take_back() noexcept {
    for (std::size_t i = allotments_.size(); i-- != 0;) {
      allotment const a = allotments_[i];
      if (std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(a.memory))->load(std::memory_order_acquire) ==
          a.ranks) {
        allotments_[i] = allotments_.back();
        allotments_.pop_back();
        deallocate(a.memory, a.bytes);
      }
    }
  }

  void deallocate(std::byte* memory, std::size_t bytes) noexcept {
    range const returned_range{memory, round_up(bytes)};
    --used_ranges_;
    std::size_t i = 0;
    while (i < free_.size() && free_[i].begin < returned_range.begin) {
      ++i;
    }
    bool const joins_left = i != 0 && free_[i - 1].end() == returned_range.begin;
    bool const joins_right = i < free_.size() && returned_range.end() == free_[i].begin;
    auto const address = free_.begin() + static_cast<std::ptrdiff_t>(i);
    if (joins_left && joins_right) {
      free_[i - 1].bytes += returned_range.bytes + free_[i].bytes;
      free_.erase(address);
    } else if (joins_left) {
      free_[i - 1].bytes += returned_range.bytes;
    } else if (joins_right) {
      free_[i] = {returned_range.begin, returned_range.bytes + free_[i].bytes};
    } else {
      free_.insert(address, returned_range);
    }
  }

  window_table table_;
  rank_type me_ = 0;
  owned_array<std::atomic<std::byte*>> mappings_;  ///< windows of all ranks that were used here
  window own_windows_[window_table::max_windows];
  std::atomic<std::uint32_t> count_{0};  ///< own windows
  mutable monitor mutex_;
  std::vector<range> free_;
  std::vector<allotment> allotments_;
  std::size_t used_ranges_ = 0;   ///< ranges in use
  std::size_t used_bytes_ = 0;    ///< bytes of buffers in use
  std::size_t window_bytes_ = 0;  ///< bytes of all own windows
  std::size_t limit_ = 0;
  std::uint32_t owner_ = fork_guard::generation();
};

using shared_arena = basic_shared_arena<shared_file>;

}  // namespace tutti::detail::shared_memory
