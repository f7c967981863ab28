// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The unit that cores exchange. Also correct where lines are 32 bytes.
inline constexpr std::size_t cache_line = 64;

/// Carries the messages of one lane from one rank to another, in order: a ring of slots that only the sender writes,
/// and a count that only the receiver writes. Slots are numbered from 1 without end; slot k is ring[(k - 1) %
/// slot_count]. A message has the number of its first slot.
///
///     state of a slot    the sender                                    the receiver
///     free               writes payload, check and bytes
///     full               stores number = k, release  ------------->    loads number == k, acquire; reads (view)
///     released                                       <-------------    stores released_slots >= k, release
///     free               loads released_slots >= k, acquire
///
/// These two pairs of release and acquire suffice, because each word has one writer: the first orders writing before
/// reading, the second reading before the next writing.
///
/// A message of up to 48 bytes is in its slot. One of up to 96 bytes is in two slots and goes by the first number; the
/// second payload is written before that, and the second slot keeps an old number, below any that is awaited there.
/// For a longer message the slot holds its location (shared_locations).
struct mailbox {
  static constexpr std::uint64_t slot_count = 8;

  struct alignas(cache_line) slot {
    static constexpr std::size_t capacity = 48;
    static constexpr std::size_t max_bytes = std::size_t{1} << 31;  ///< must fit `bytes`

    std::atomic<std::uint64_t> number{0};  ///< number of the message; written last
    std::uint32_t check;                   ///< hash of call and flow
    std::uint32_t bytes;
    alignas(16) std::byte payload[capacity];  ///< the message, half of it, or a `long_message`

    /// A message that is not in its slot. In a loan, the borrower may write its result at `result_location`. In a
    /// loan_return, the result is at `location`, in the memory of the lender, which receives this slot.
    struct long_message {
      std::uint64_t location;
      std::uint64_t result_location = 0;
      enum : std::uint64_t { in_place, loan, loan_return } kind = in_place;
    };
    /// Writes word by word (compilers.md: Stores and loads of one width).
    void set(long_message value) noexcept {
      std::uint64_t const kind = value.kind;
      std::memcpy(payload + offsetof(long_message, location), &value.location, sizeof value.location);
      std::memcpy(payload + offsetof(long_message, result_location), &value.result_location,
                  sizeof value.result_location);
      std::memcpy(payload + offsetof(long_message, kind), &kind, sizeof kind);
    }
    [[nodiscard]] long_message get() const noexcept {
      long_message value;
      std::memcpy(&value, payload, sizeof value);
      return value;
    }
  };
  static_assert(sizeof(slot) == cache_line);

  static constexpr std::size_t max_inline = 2 * slot::capacity;
  /// The slots that a message of this many bytes takes.
  [[nodiscard]] static constexpr std::uint64_t slots_needed(std::size_t bytes) noexcept {
    return bytes > slot::capacity && bytes <= max_inline ? 2 : 1;
  }

  /// A range of bytes of a message.
  struct part {
    std::uint32_t begin = 0;
    std::uint32_t bytes = 0;
  };

  slot ring[slot_count];
  alignas(cache_line) std::atomic<std::uint64_t> released_slots{0};  ///< slots that the receiver has released

  // Requests of a receiver that cannot read the next message in its sender's private memory. Each counter is stored
  // with release, behind the word that it announces, and loaded with acquire by the other rank.
  std::atomic<std::uint32_t> parts_requested{0};  ///< written by the receiver, after `requested_part`
  std::atomic<std::uint32_t> parts_supplied{0};   ///< written by the sender, after `part_copy`
  part requested_part;                            ///< written by the receiver
  std::uint64_t part_copy = 0;                    ///< written by the sender: location of its copy

  [[nodiscard]] slot& slot_at(std::uint64_t number) noexcept { return ring[(number - 1) % slot_count]; }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the words of a mailbox are shared between processes");

/// Copies a short message. Single elements, the most frequent, need no call.
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
