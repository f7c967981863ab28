// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emulated_gpu {

/// Memory known to devices: device memory, or pinned host memory.
struct region {
  static constexpr int no_device = -1;

  std::uint64_t first = 0;  ///< address for programs and kernels
  std::size_t bytes = 0;
  std::byte* host_address = nullptr;  ///< address in this process
  int device = no_device;
  std::byte* mapping = nullptr;  ///< start of the mapping that contains it, for another process's memory

  [[nodiscard]] bool has(std::uint64_t address, std::size_t count) const noexcept {
    return address >= first && address - first <= bytes && count <= bytes - (address - first);
  }
};

/// All known memory of the process. Device addresses are invalid on the host: reading one there ends the program.
class memory_map {
 public:
  /// A bit that no address of a process has.
  static constexpr std::uint64_t device_bit = std::uint64_t{1} << 60;

  void add(region const& r) {
    std::scoped_lock const lock(mutex_);
    regions_[r.first] = r;
    ++version_;
  }
  /// @returns the removed region
  std::optional<region> remove(std::uint64_t first) {
    std::scoped_lock const lock(mutex_);
    auto const entry = regions_.find(first);
    if (entry == regions_.end()) {
      return std::nullopt;
    }
    region const r = entry->second;
    regions_.erase(entry);
    ++version_;
    return r;
  }
  [[nodiscard]] std::optional<region> find(std::uint64_t address, std::size_t count) const {
    std::scoped_lock const lock(mutex_);
    auto entry = regions_.upper_bound(address);
    if (entry == regions_.begin() || !(--entry)->second.has(address, count)) {
      return std::nullopt;
    }
    return entry->second;
  }
  /// Changes whenever regions are added or removed.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, region> regions_;
  std::atomic<std::uint64_t> version_ = 1;
};

/// A device's memory: an anonymous file, so that other processes can map it.
class device_memory {
 public:
  static constexpr std::size_t capacity = std::size_t{8} << 30;
  static constexpr std::size_t page = 4096;

  [[nodiscard]] std::byte* allocate(std::size_t bytes) {
    std::scoped_lock const lock(mutex_);
    if (base_ == nullptr) {
      file_ = memfd_create("memory of an emulated GPU", MFD_CLOEXEC);
      void* p = MAP_FAILED;
      if (file_ >= 0 && ftruncate(file_, capacity) == 0) {
        p = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
      }
      if (p == MAP_FAILED) {
        fail("no memory for a device");
      }
      base_ = static_cast<std::byte*>(p);
      free_ranges_[0] = capacity;
    }
    // A gap follows every allocation.
    std::size_t const reserved_bytes = (alignment + bytes + 2 * page - 1) / page * page;
    for (auto range = free_ranges_.begin(); range != free_ranges_.end(); ++range) {
      if (range->second >= reserved_bytes) {
        std::size_t const place = range->first;
        std::size_t const rest = range->second - reserved_bytes;
        free_ranges_.erase(range);
        if (rest != 0) {
          free_ranges_[place + reserved_bytes] = rest;
        }
        allocations_[place] = reserved_bytes;
        std::memset(base_ + place, poison, reserved_bytes);
        return base_ + place + alignment;
      }
    }
    return nullptr;
  }
  void free(std::byte* p) {
    std::scoped_lock const lock(mutex_);
    auto const place = offset(p) - alignment;
    std::size_t const bytes = allocations_.at(place);
    allocations_.erase(place);
    auto range = free_ranges_.emplace(place, bytes).first;
    if (auto const next = std::next(range); next != free_ranges_.end() && range->first + range->second == next->first) {
      range->second += next->second;
      free_ranges_.erase(next);
    }
    if (range != free_ranges_.begin()) {
      if (auto const previous = std::prev(range); previous->first + previous->second == range->first) {
        previous->second += range->second;
        free_ranges_.erase(range);
      }
    }
    static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
                                static_cast<off_t>(bytes)));
  }
  [[nodiscard]] std::size_t offset(std::byte const* p) const { return static_cast<std::size_t>(p - base_); }
  [[nodiscard]] int file() const noexcept { return file_; }

 private:
  static constexpr std::size_t alignment = 256;  ///< CUDA promises no more
  static constexpr int poison = 0xA5;            ///< makes memory that was never written read as nonsense

  std::mutex mutex_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::map<std::size_t, std::size_t> free_ranges_;
  std::map<std::size_t, std::size_t> allocations_;
};

}  // namespace emulated_gpu
