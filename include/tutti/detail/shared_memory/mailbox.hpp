// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The size of what processors hand to each other. Also right where lines are 32 bytes.
inline constexpr std::size_t cache_line = 64;

/// Carries the messages of one lane from one rank to one other, in order: a ring of slots that only
/// the sender writes, and a count that only the receiver writes. Both ends keep their own running
/// number privately; number k (from 1) lies in slot (k - 1) % slots.
///
/// A short message travels in its slot, one cache line in all, or in two that follow each other: then it
/// has two numbers, goes by the first of them, and only its first slot has more than a payload. The number that
/// was in the second one stays there: it is less than any that is awaited there. Of a longer one the slot says where
/// it is, counted from an origin that both ends know.
struct mailbox {
  static constexpr std::uint64_t slot_count = 8;

  struct alignas(cache_line) slot {
    static constexpr std::size_t capacity = 48;
    static constexpr std::size_t max_bytes = std::size_t{1} << 31;  ///< `bytes` must hold it

    std::atomic<std::uint64_t> number{0};  ///< of the message in it; written last
    std::uint32_t check;                   ///< of call and flow
    std::uint32_t bytes;
    alignas(16) std::byte payload[capacity];  ///< the message, half of it, or its location

    /// Where a longer message is. One that is lent says where its receiver may write what it makes of
    /// it, and one that is given back is where it was wanted, in the receiver's memory.
    struct location {
      std::uint64_t place;
      std::uint64_t result_place = 0;
      enum : std::uint64_t { in_place, loan, loan_return } kind = in_place;
    };
    /// Word by word: g++ would write the three to its stack and read two as one there, which processors do not forward.
    void set(location value) noexcept {
      std::uint64_t const kind = value.kind;
      std::memcpy(payload + offsetof(location, place), &value.place, sizeof value.place);
      std::memcpy(payload + offsetof(location, result_place), &value.result_place, sizeof value.result_place);
      std::memcpy(payload + offsetof(location, kind), &kind, sizeof kind);
    }
    [[nodiscard]] location get() const noexcept {
      location value;
      std::memcpy(&value, payload, sizeof value);
      return value;
    }
  };
  static_assert(sizeof(slot) == cache_line);

  static constexpr std::size_t max_inline = 2 * slot::capacity;
  /// How many slots a message of this many bytes takes.
  [[nodiscard]] static constexpr std::uint64_t slots_needed(std::size_t bytes) noexcept {
    return bytes > slot::capacity && bytes <= max_inline ? 2 : 1;
  }

  /// Some bytes of a message.
  struct part {
    std::uint32_t begin = 0;
    std::uint32_t bytes = 0;
  };

  slot ring[slot_count];
  alignas(cache_line) std::atomic<std::uint64_t> released_slots{0};  ///< how many slots the receiver has released

  // A receiver that cannot read the next message in its sender's private memory asks for copies of its parts.
  std::atomic<std::uint32_t> parts_requested{0};  ///< how many parts the receiver has asked for
  std::atomic<std::uint32_t> parts_supplied{0};   ///< how many of them the sender has copied
  part requested_part;                            ///< the last one
  std::uint64_t part_copy = 0;                    ///< where it is

  [[nodiscard]] slot& slot_at(std::uint64_t number) noexcept { return ring[(number - 1) % slot_count]; }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the words of a mailbox are shared between processes");

/// Copies a short message. Single elements are by far the most frequent: they need no call.
inline void copy_short(std::byte* target, std::span<std::byte const> source) noexcept {
  switch (source.size()) {
    case 0:
      return;
    case 4:
      std::memcpy(target, source.data(), 4);
      return;
    case 8:
      std::memcpy(target, source.data(), 8);
      return;
    default:
      std::memcpy(target, source.data(), source.size());
  }
}

}  // namespace tutti::detail::shared_memory
