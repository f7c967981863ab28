// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/intrusive_pointer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace tutti::inline v0_1_0 {

/// The origin of an allocator's memory: the segment that processes of one host share, memory registered with a device,
/// or the heap. Reference-counted, so buffers may outlive the transport that they were allocated from. Thread-safe.
class memory_source {
 public:
  /// The alignment of all memory: a cache line, and the widest vectors.
  static constexpr std::size_t alignment = 64;

  memory_source(memory_source const&) = delete;
  memory_source& operator=(memory_source const&) = delete;

  /// Allocates `bytes` bytes.
  /// @throws std::bad_alloc
  [[nodiscard]] void* take(std::size_t bytes) { return take_(*this, bytes); }
  /// Frees `bytes` bytes that `take` returned.
  void give(void* memory, std::size_t bytes) noexcept { give_(*this, memory, bytes); }
  /// The memory around an address that stays in place as long as the source exists, so that a device can register it
  /// once. It may grow. Empty if the address is not this source's, or its memory may move.
  [[nodiscard]] std::span<std::byte const> region(void const* address) { return region_(*this, address); }

  /// Adds a reference.
  void add_reference() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  /// Drops a reference; the last one ends the source.
  void drop_reference() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      end_(*this);
    }
  }

 protected:
  /// Allocates, for `take`.
  using take_function = void* (*)(memory_source&, std::size_t bytes);
  /// Frees, for `give`.
  using give_function = void (*)(memory_source&, void*, std::size_t bytes) noexcept;
  /// Ends a source that has no reference.
  using end_function = void (*)(memory_source&) noexcept;
  /// Finds the memory around an address, for `region`.
  using region_function = std::span<std::byte const> (*)(memory_source&, void const*);

  /// Constructs a source with one reference, its maker's.
  memory_source(take_function t, give_function g, end_function e, region_function a) noexcept
      : take_(t), give_(g), end_(e), region_(a) {}
  ~memory_source() = default;

 private:
  take_function take_;
  give_function give_;
  end_function end_;
  region_function region_;
  std::atomic<std::uint32_t> holders_{1};
};

}  // namespace tutti
