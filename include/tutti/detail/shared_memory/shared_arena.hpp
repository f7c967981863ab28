// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/core/inheritance.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/detail/core/owned.hpp>
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

/// The shared memory of a host has no room for a buffer, and why, if that is known.
class out_of_shared_memory : public std::bad_alloc {
 public:
  explicit out_of_shared_memory(std::string_view why = {}) noexcept {
    std::string_view const parts[] = {"no shared memory is left for a buffer", why.empty() ? "" : ": ", why,
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

/// The shared memory of a host as one process has it: its own part, out of which its allocators take buffers that
/// peers can read, and theirs.
///
/// A part consists of windows, ranges of the file that are mapped in one piece: by their owner when the ones before are
/// full, each as large as all of them together; by a peer when something that lies there is first read. So no address
/// space is taken before it is used. Only its owner keeps book of a part. Free pieces are kept in order of address and
/// merged; the first that is large enough is taken. Memory comes from the system when it is first used and goes back
/// with the world, all that was split from it and the last buffer. Thread-safe. Cost: linear in the number of free
/// pieces.
/// @tparam File shared_file; of one process alone private_file; a test has a host with less memory
template <class File>
class basic_shared_arena : public memory_source {
 public:
  static counted<basic_shared_arena> create() { return counted<basic_shared_arena>(new basic_shared_arena); }

  /// Where the windows of all are noted in the file, which rank's part this is, and what its buffers may come to. Known
  /// only after the file has been made.
  void place(window_table const& table, rank_type me, std::size_t limit) {
    // So that sums of lengths are right, and offsets fit beside a window's number.
    constexpr std::uint64_t most = std::uint64_t{1} << (window_shift - 2);
    constexpr std::size_t longest = SIZE_MAX / 4 < most ? SIZE_MAX / 4 : static_cast<std::size_t>(most);
    me_ = me;
    limit_ = limit < longest ? limit : longest;
    mapped_ = owned_array<std::atomic<std::byte*>>(std::size_t{table.ranks()} * window_table::most);
    for (std::size_t i = 0; i < std::size_t{table.ranks()} * window_table::most; ++i) {
      mapped_[i].store(nullptr, std::memory_order_relaxed);
    }
    table_ = table;
  }

  /// Memory that `ranks` ranks use: it comes back when each of them has told its `end`.
  [[nodiscard]] std::byte* allot(std::size_t bytes, rank_type ranks) {
    expect_owner();
    held const lock(guard_);
    take_back();
    allotted_.reserve(allotted_.size() + 1);
    std::byte* const memory = find(rounded(header + bytes));
    new (memory) std::atomic<std::uint32_t>(0);
    allotted_.push_back({memory, header + bytes, ranks});
    return memory + header;
  }
  /// This many ranks will not touch it again.
  static void end(std::byte* allotted, rank_type ranks) noexcept {
    std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(allotted - header))
        ->fetch_add(ranks, std::memory_order_release);
  }

  /// By which word other ranks find what lies here: 0 if it is not in this rank's part.
  [[nodiscard]] std::uint64_t locate(void const* here) const noexcept {
    std::uint32_t const count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uintptr_t const offset =
          reinterpret_cast<std::uintptr_t>(here) - reinterpret_cast<std::uintptr_t>(own_[i].base);
      if (offset < own_[i].bytes) {
        return std::uint64_t{i + 1} << window_shift | offset;
      }
    }
    return 0;
  }
  /// Where this process has what another rank locates so.
  /// @throws error(failure::protocol) if it has no address space for it
  [[nodiscard]] std::byte* at(rank_type owner, std::uint64_t location) {
    auto const i = static_cast<std::uint32_t>(location >> window_shift) - 1;
    std::byte* base = of(owner, i).load(std::memory_order_acquire);
    if (base == nullptr) [[unlikely]] {
      base = map(owner, i);
    }
    return base + integer_cast<std::size_t>(location & ((std::uint64_t{1} << window_shift) - 1));
  }
  File file;

 private:
  static constexpr int window_shift = 48;
  static constexpr std::size_t header = alignment;  ///< of what is allotted: how many have ended
  static constexpr std::size_t least_window = std::size_t{16} << 20;

  struct piece {
    std::byte* begin;
    std::size_t bytes;
    [[nodiscard]] std::byte* end() const noexcept { return begin + bytes; }
  };
  struct window {
    std::byte* base;
    std::size_t bytes;
    std::uint64_t begin;    ///< in the file
    std::size_t committed;  ///< up to here the system has given memory
  };
  struct allotment {
    std::byte* memory;
    std::size_t bytes;
    rank_type ranks;
  };

  basic_shared_arena() noexcept
      : memory_source([](memory_source& s, std::size_t n) { return self(s).allocate(n); },
                      [](memory_source& s, void* p, std::size_t n) noexcept {
                        held const lock(self(s).guard_);
                        self(s).given_ -= rounded(n);
                        self(s).deallocate(static_cast<std::byte*>(p), n);
                      },
                      [](memory_source& s) noexcept { delete &self(s); },
                      [](memory_source& s, void const* here) { return self(s).committed_around(here); }) {}

  ~basic_shared_arena() {
    for (rank_type r = 0; r < table_.ranks(); ++r) {
      for (std::uint32_t i = 0; i < window_table::most; ++i) {
        if (std::byte* const base = of(r, i).load(std::memory_order_relaxed); base != nullptr) {
          File::unmap(base, table_.at(r, i).bytes.load(std::memory_order_relaxed));
        }
      }
    }
  }

  /// A forked child has the memory, but its parent keeps book of it: both would give the same pieces away.
  void expect_owner() const {
    expects(owner_ == inheritance::generation(),
            "tutti::allocator: this memory belongs to the process that forked this one; allocate in ordinary memory");
  }

  static basic_shared_arena& self(memory_source& s) noexcept { return static_cast<basic_shared_arena&>(s); }

  [[nodiscard]] std::atomic<std::byte*>& of(rank_type r, std::uint32_t i) const noexcept {
    return mapped_[std::size_t{r} * window_table::most + i];
  }

  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  }

  std::byte* map(rank_type owner, std::uint32_t i) {
    held const lock(guard_);
    std::atomic<std::byte*>& base = of(owner, i);
    if (base.load(std::memory_order_relaxed) == nullptr) {
      auto const& w = table_.at(owner, i);
      std::size_t const bytes = w.bytes.load(std::memory_order_relaxed);
      std::byte* const here = file.map(w.begin.load(std::memory_order_relaxed), bytes);
      if (here == nullptr) {
        throw error(failure::protocol, "cannot map " + std::to_string(bytes) +
                                           " bytes of another rank's buffers: " + describe_errno(errno) +
                                           "; allow more address space (ulimit -v), or use ordinary memory for them");
      }
      base.store(here, std::memory_order_release);
    }
    return base.load(std::memory_order_relaxed);
  }

  /// What has memory of the window in which this place is.
  [[nodiscard]] std::span<std::byte const> committed_around(void const* here) const {
    std::uint64_t const location = locate(here);
    if (location == 0) {
      return {};
    }
    held const lock(guard_);
    window const& w = own_[(location >> window_shift) - 1];
    return {w.base, w.committed};
  }

  void* allocate(std::size_t bytes) {
    expect_owner();
    held const lock(guard_);
    take_back();
    if (bytes > limit_ || rounded(bytes) > limit_ - given_) {
      throw out_of_shared_memory();
    }
    void* const memory = find(rounded(bytes));
    given_ += rounded(bytes);
    return memory;
  }

  /// The beginning of the first free piece that is so large.
  std::byte* find(std::size_t size) {
    // Never more free pieces than this, so giving back cannot fail.
    free_.reserve(buffers_ + count_.load(std::memory_order_relaxed) + 2);
    std::size_t i = 0;
    while (i < free_.size() && free_[i].bytes < size) {
      ++i;
    }
    i = i < free_.size() ? i : open(size);
    piece& p = free_[i];
    // Asked for now, a shortage is an exception; on the first touch it would be a SIGBUS.
    if (std::string const shortage = commit(p.begin + size); !shortage.empty()) {
      throw out_of_shared_memory(shortage);
    }
    std::byte* const at = p.begin;
    p = {p.begin + size, p.bytes - size};
    if (p.bytes == 0) {
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ++buffers_;
    return at;
  }

  /// Sees to it that there is memory up to here. Says why if there is not enough: otherwise "".
  [[nodiscard]] std::string commit(std::byte const* end) {
    for (std::uint32_t i = 0;; ++i) {
      window& w = own_[i];
      std::size_t const to = reinterpret_cast<std::uintptr_t>(end) - reinterpret_cast<std::uintptr_t>(w.base);
      if (to > w.bytes) {
        continue;  // it is another window's
      }
      if (to > w.committed) {
        if (std::string shortage = file.commit(w.begin + w.committed, w.begin + to); !shortage.empty()) {
          return shortage;
        }
        w.committed = to;
      }
      return {};
    }
  }

  /// A new window with room for this: the number of its free piece. A page more than is used keeps windows apart,
  /// and lets like buffers of two ranks not lie a power of two apart: then their addresses would differ in high bits
  /// only, and a first-level cache that predicts its way by a hash of lower ones (AMD's: Lipp and others, Take A Way,
  /// 2020) could not hold both lines.
  TUTTI_COLD std::size_t open(std::size_t size) {
    std::uint32_t const i = count_.load(std::memory_order_relaxed);
    if (i == window_table::most) {
      throw out_of_shared_memory();
    }
    std::size_t const page = page_bytes();
    std::size_t const needed = (size + page - 1) / page * page;
    std::size_t const usual = opened_ < least_window ? least_window : opened_;
    for (std::size_t bytes = needed < usual ? usual : needed;; bytes = needed) {
      std::uint64_t const begin = table_.reserve(bytes + page);
      std::byte* const base = file.map(begin, bytes + page);
      if (base == nullptr) {
        table_.unreserve(begin, bytes + page);
        if (bytes == needed) {
          throw out_of_shared_memory();
        }
        continue;  // as little address space as will do
      }
      own_[i] = {base, bytes, begin, 0};
      table_.at(me_, i).begin.store(begin, std::memory_order_relaxed);
      table_.at(me_, i).bytes.store(bytes + page, std::memory_order_relaxed);
      of(me_, i).store(base, std::memory_order_release);
      count_.store(i + 1, std::memory_order_release);
      opened_ += bytes;
      free_.reserve(buffers_ + i + 3);
      std::size_t at = 0;
      while (at < free_.size() && free_[at].begin < base) {
        ++at;
      }
      free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(at), {base, bytes});
      return at;
    }
  }

  /// What all have ended that it was allotted to.
  void take_back() noexcept {
    for (std::size_t i = allotted_.size(); i-- != 0;) {
      allotment const a = allotted_[i];
      if (std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(a.memory))->load(std::memory_order_acquire) ==
          a.ranks) {
        allotted_[i] = allotted_.back();
        allotted_.pop_back();
        deallocate(a.memory, a.bytes);
      }
    }
  }

  void deallocate(std::byte* memory, std::size_t bytes) noexcept {
    piece const back{memory, rounded(bytes)};
    --buffers_;
    std::size_t i = 0;
    while (i < free_.size() && free_[i].begin < back.begin) {
      ++i;
    }
    bool const joins_left = i != 0 && free_[i - 1].end() == back.begin;
    bool const joins_right = i < free_.size() && back.end() == free_[i].begin;
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

  window_table table_;
  rank_type me_ = 0;
  owned_array<std::atomic<std::byte*>> mapped_;  ///< the windows of all ranks, as far as they have been used here
  window own_[window_table::most];
  std::atomic<std::uint32_t> count_{0};  ///< how many of its own it has
  mutable monitor guard_;
  std::vector<piece> free_;
  std::vector<allotment> allotted_;
  std::size_t buffers_ = 0;  ///< how many are in use
  std::size_t given_ = 0;    ///< how many bytes of them count
  std::size_t opened_ = 0;   ///< how large its windows are together
  std::size_t limit_ = 0;
  std::uint32_t owner_ = inheritance::generation();
};

using shared_arena = basic_shared_arena<shared_file>;

}  // namespace tutti::detail::shared_memory
