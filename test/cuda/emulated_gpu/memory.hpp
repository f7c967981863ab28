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
  static constexpr int of_host = -1;

  std::uint64_t first = 0;  ///< address for programs and kernels
  std::size_t bytes = 0;
  std::byte* here = nullptr;  ///< address in this process
  int device = of_host;
  std::byte* mapped = nullptr;  ///< start of the mapping that contains it, for another process's memory

  [[nodiscard]] bool has(std::uint64_t address, std::size_t count) const noexcept {
    return address >= first && address - first <= bytes && count <= bytes - (address - first);
  }
};

/// All known memory of the process. Device addresses are invalid on the host: reading one there ends the program.
class memory_map {
 public:
  /// Bits that no address of a process has.
  static constexpr std::uint64_t of_device = std::uint64_t{1} << 60;

  void add(region const& r) {
    std::scoped_lock const lock(mutex_);
    regions_[r.first] = r;
    ++version_;
  }
  /// @returns the removed region
  std::optional<region> remove(std::uint64_t first) {
    std::scoped_lock const lock(mutex_);
    auto const it = regions_.find(first);
    if (it == regions_.end()) {
      return std::nullopt;
    }
    region const r = it->second;
    regions_.erase(it);
    ++version_;
    return r;
  }
  [[nodiscard]] std::optional<region> find(std::uint64_t address, std::size_t count) const {
    std::scoped_lock const lock(mutex_);
    auto it = regions_.upper_bound(address);
    if (it == regions_.begin() || !(--it)->second.has(address, count)) {
      return std::nullopt;
    }
    return it->second;
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
      free_[0] = capacity;
    }
    std::size_t const taken = (aligned + bytes + 2 * page - 1) / page * page;  // a gap follows every allocation
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= taken) {
        std::size_t const at = it->first;
        std::size_t const rest = it->second - taken;
        free_.erase(it);
        if (rest != 0) {
          free_[at + taken] = rest;
        }
        used_[at] = taken;
        std::memset(base_ + at, poison, taken);
        return base_ + at + aligned;
      }
    }
    return nullptr;
  }
  void free(std::byte* p) {
    std::scoped_lock const lock(mutex_);
    auto const at = offset(p) - aligned;
    std::size_t const bytes = used_.at(at);
    used_.erase(at);
    auto it = free_.emplace(at, bytes).first;
    if (auto const next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      if (auto const before = std::prev(it); before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
    }
    static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                                static_cast<off_t>(bytes)));
  }
  [[nodiscard]] std::size_t offset(std::byte const* p) const { return static_cast<std::size_t>(p - base_); }
  [[nodiscard]] int file() const noexcept { return file_; }

 private:
  static constexpr std::size_t aligned = 256;  ///< CUDA promises no more
  static constexpr int poison = 0xA5;          ///< makes memory that was never written read as nonsense

  std::mutex mutex_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::map<std::size_t, std::size_t> free_;
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace emulated_gpu
