// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/counted.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace tutti::inline v0_1_0 {

/// Where allocators take memory from: the segment that processes of one host share, what a device has been told of, or
/// the heap. It lives for as long as it is held, so buffers may outlive the transport that they were made for.
/// Thread-safe.
class memory_source {
 public:
  /// What memory is aligned to: a cache line, and the widest vectors.
  static constexpr std::size_t alignment = 64;

  memory_source(memory_source const&) = delete;
  memory_source& operator=(memory_source const&) = delete;

  /// So many bytes.
  /// @throws std::bad_alloc
  [[nodiscard]] void* take(std::size_t bytes) { return take_(*this, bytes); }
  /// Gives back so many bytes that `take` gave.
  void give(void* memory, std::size_t bytes) noexcept { give_(*this, memory, bytes); }
  /// Memory around this place that stays where it is for as long as the source lives, so that a device can be told of
  /// it once. It may become longer. Empty: the place is none of this source's, or its memory does not stay.
  [[nodiscard]] std::span<std::byte const> around(void const* here) { return around_(*this, here); }

  /// One more holder.
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  /// One holder fewer; it ends with the last one.
  void let_go() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      end_(*this);
    }
  }

 protected:
  /// How memory is taken.
  using take_function = void* (*)(memory_source&, std::size_t bytes);
  /// How memory is given back.
  using give_function = void (*)(memory_source&, void*, std::size_t bytes) noexcept;
  /// How a source ends that has no holder.
  using end_function = void (*)(memory_source&) noexcept;
  /// How a source finds what is around a place.
  using around_function = std::span<std::byte const> (*)(memory_source&, void const*);

  /// Held once, by its maker.
  memory_source(take_function t, give_function g, end_function e, around_function a) noexcept
      : take_(t), give_(g), end_(e), around_(a) {}
  ~memory_source() = default;

 private:
  take_function take_;
  give_function give_;
  end_function end_;
  around_function around_;
  std::atomic<std::uint32_t> holders_{1};
};

}  // namespace tutti
