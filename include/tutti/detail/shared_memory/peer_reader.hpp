// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/message.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Messages that lie in their sender's private memory, as one rank reads them: straight to their place if
/// they are only moved; otherwise piece by piece through buffers that fit into the cache, where they are
/// combined. What it cannot read it asks the sender for. At most one message at a time of each peer and lane.
template <class Memory>
class peer_reader {
 public:
  /// A piece: small enough to be in the cache when it is combined, large enough to be worth a system call.
  static constexpr std::size_t piece = std::size_t{128} << 10;

  peer_reader(Memory const& memory, rank_type size) : memory_(&memory), readings_(std::size_t{size} * lane_count) {}

  /// The next part of a message of `bytes` at `address` of that rank; no data if it cannot be read.
  [[nodiscard]] chunk view(rank_type from, std::uint32_t lane, std::uintptr_t address, std::size_t bytes,
                           wanted const& w) {
    reading& r = of(from, lane);
    if (r.held) {
      return r.held;
    }
    r.total = bytes;
    std::size_t const left = bytes - r.done < w.bytes ? bytes - r.done : w.bytes;
    if (w.place != nullptr) {
      if (memory_->copy(from, address + r.done, w.place, left)) {
        r.held = {w.place, left};
      }
      return r.held;
    }
    std::size_t const usual = piece < w.granule ? w.granule : piece / w.granule * w.granule;
    std::size_t const n = left < usual ? left : usual;
    buffer b = take(n);
    if (memory_->copy(from, address + r.done, b.bytes.get(), n)) {
      r.held = {b.bytes.get(), n};
      r.in = std::move(b);
    }
    return r.held;
  }

  /// True if the rest of the message has to be asked for: it could not be read.
  [[nodiscard]] bool asks(rank_type from, std::uint32_t lane) noexcept { return of(from, lane).asks; }
  void ask_from_now_on(rank_type from, std::uint32_t lane) noexcept { of(from, lane).asks = true; }

  /// The next part of a message that has to be asked for, no data until it is there: `cut(bytes)` says how long the
  /// next part of that many bytes is, `ask(begin, bytes)` asks for it, and `part()` is where it is, or null.
  template <class Cut, class Ask, class Part>
  [[nodiscard]] chunk view_copy(rank_type from, std::uint32_t lane, std::size_t bytes, Cut cut, Ask ask, Part part) {
    reading& r = of(from, lane);
    if (r.held) {
      return r.held;
    }
    r.total = bytes;
    if (r.asked_for == 0) {
      r.asked_for = cut(bytes - r.done);
      ask(r.done, r.asked_for);
    }
    if (std::byte const* const here = part(); here != nullptr) {
      r.held = {here, std::exchange(r.asked_for, 0)};
    }
    return r.held;
  }

  /// The part that was viewed is no longer needed. True at the end of the message, or if it was none of these.
  [[nodiscard]] bool release(rank_type from, std::uint32_t lane) {
    reading& r = of(from, lane);
    if (!r.held) {
      return true;
    }
    r.done += r.held.bytes;
    r.held = {};
    if (r.in.size != 0) {
      spare_.push_back(std::exchange(r.in, {}));
    }
    if (r.done != r.total) {
      return false;
    }
    r.done = 0;
    r.asks = false;
    return true;
  }

 private:
  struct buffer {
    owned_array<std::byte> bytes;
    std::size_t size = 0;
  };
  struct reading {
    std::size_t done = 0;  ///< bytes of the message that have been released
    std::size_t total = 0;
    chunk held;
    buffer in;                  ///< where they lie, unless that is their place
    bool asks = false;          ///< it cannot be read, so the sender is asked for copies
    std::size_t asked_for = 0;  ///< bytes that have not come yet
  };

  [[nodiscard]] reading& of(rank_type from, std::uint32_t lane) noexcept {
    return readings_[std::size_t{from} * lane_count + lane];
  }

  [[nodiscard]] buffer take(std::size_t bytes) {
    while (!spare_.empty()) {
      buffer b = std::move(spare_.back());
      spare_.pop_back();
      if (b.size >= bytes) {
        return b;
      }
    }
    std::size_t const size = bytes < piece ? piece : bytes;
    return {owned_array<std::byte>(size), size};
  }

  Memory const* memory_;
  owned_array<reading> readings_;
  std::vector<buffer> spare_;
};

}  // namespace tutti::detail::shared_memory
