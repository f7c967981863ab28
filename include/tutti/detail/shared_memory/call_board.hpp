// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/shared_memory/mailbox.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>

#include <atomic>
#include <cstring>
#include <string>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Hash of the call and the number of the flow, which both ends of a message must agree on.
[[nodiscard]] constexpr std::uint32_t check_of(call const& value, std::uint32_t number) noexcept {
  return value.fingerprint() ^ (number * 0x9e3779b1U);
}

/// The call with which a rank opened a flow, readable by others while it is overwritten. Needs no lock: words of two
/// calls hardly ever give the check beside them, which has 32 bits.
struct alignas(cache_line) call_record {
  static constexpr std::size_t words = (sizeof(call) + 7) / 8;

  std::atomic<std::uint64_t> text[words]{};
  std::atomic<std::uint64_t> key{0};  ///< the check, and the number of the flow

  /// `extra` is a hash of words that are written elsewhere and must be read together with the call.
  void write(call const& value, std::uint32_t flow_number, std::uint32_t extra = 0) noexcept {
    std::uint64_t copy[words] = {};
    std::memcpy(copy, &value, sizeof value);
    for (std::size_t i = 0; i < words; ++i) {
      text[i].store(copy[i], std::memory_order_relaxed);
    }
    std::uint32_t const check = check_of(value, flow_number) ^ extra;
    key.store(std::uint64_t{check} << 32 | flow_number, std::memory_order_relaxed);
  }

  /// Reads the call, its flow and their check. Returns false if they are being overwritten.
  bool read(call& value, std::uint32_t& flow_number, std::uint32_t& check, std::uint32_t extra = 0) const noexcept {
    std::uint64_t copy[words];
    for (std::size_t i = 0; i < words; ++i) {
      copy[i] = text[i].load(std::memory_order_relaxed);
    }
    std::memcpy(static_cast<void*>(&value), copy, sizeof value);
    std::uint64_t const word = key.load(std::memory_order_relaxed);
    flow_number = static_cast<std::uint32_t>(word);
    check = static_cast<std::uint32_t>(word >> 32);
    return (check_of(value, flow_number) ^ extra) == check;
  }
};

/// The last calls of one rank on one lane: a sender can be several flows ahead of its receiver.
struct call_board {
  static constexpr std::uint32_t record_count = 4;
  call_record records[record_count];

  /// The call with this check, "allreduce(sum float32 x 1000, ring) (number 7)", while it is still on the board.
  [[nodiscard]] std::string describe(std::uint32_t check) const;

  /// True if flow `number` was opened with a call whose check is not `own_check`; it is then `peer_check`.
  [[nodiscard]] bool differs(std::uint32_t number, std::uint32_t own_check, std::uint32_t& peer_check) const;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/call_board.ipp>
#endif
