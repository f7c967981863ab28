// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/message.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Reads messages in their senders' private memory: to their place if they are only moved; otherwise part by part to
/// buffers in the cache, where they are combined. Requests what it cannot read from the sender. At most one message at
/// a time for each peer and lane.
template <class Memory>
class peer_reader {
 public:
  /// Bytes read at a time: few enough for the cache, enough to be worth a system call.
  static constexpr std::size_t usual_part = std::size_t{128} << 10;

  peer_reader(Memory const& memory, rank_type size) : memory_(&memory), readings_(std::size_t{size} * lane_count) {}

  /// The next part of a message of `bytes` at `address` of that rank; no data if it cannot be read.
  [[nodiscard]] chunk view(rank_type peer, std::uint32_t lane, std::uintptr_t address, std::size_t bytes,
                           receive_request const& w) {
    reading& r = reading_of(peer, lane);
    if (r.current) {
      return r.current;
    }
    r.total = bytes;
    std::size_t const left = bytes - r.released_bytes < w.bytes ? bytes - r.released_bytes : w.bytes;
    if (w.place != nullptr) {
      if (memory_->copy(peer, address + r.released_bytes, w.place, left)) {
        r.current = {w.place, left};
      }
      return r.current;
    }
    std::size_t const part_bytes = usual_part < w.granule ? w.granule : usual_part / w.granule * w.granule;
    std::size_t const n = left < part_bytes ? left : part_bytes;
    buffer b = take(n);
    if (memory_->copy(peer, address + r.released_bytes, b.bytes.get(), n)) {
      r.current = {b.bytes.get(), n};
      r.storage = std::move(b);
    }
    return r.current;
  }

  /// True if the rest of the message is requested from the sender, because it could not be read.
  [[nodiscard]] bool requests_parts(rank_type peer, std::uint32_t lane) noexcept {
    return reading_of(peer, lane).requests_parts;
  }
  void request_parts(rank_type peer, std::uint32_t lane) noexcept { reading_of(peer, lane).requests_parts = true; }

  /// The next part of a message that is requested; no data until it is supplied. `part_size(bytes)` is the length of
  /// the next part of that many bytes, `request(begin, bytes)` requests it, `find_part()` returns it or null.
  template <class PartSize, class Request, class FindPart>
  [[nodiscard]] chunk view_copy(rank_type peer, std::uint32_t lane, std::size_t bytes, PartSize part_size,
                                Request request, FindPart find_part) {
    reading& r = reading_of(peer, lane);
    if (r.current) {
      return r.current;
    }
    r.total = bytes;
    if (r.requested_bytes == 0) {
      r.requested_bytes = part_size(bytes - r.released_bytes);
      request(r.released_bytes, r.requested_bytes);
    }
    if (std::byte const* const part = find_part(); part != nullptr) {
      r.current = {part, std::exchange(r.requested_bytes, 0)};
    }
    return r.current;
  }

  /// Ends the use of a viewed part. Returns true at the end of the message, or if it is no message of this reader.
  [[nodiscard]] bool release(rank_type peer, std::uint32_t lane) {
    reading& r = reading_of(peer, lane);
    if (!r.current) {
      return true;
    }
    r.released_bytes += r.current.bytes;
    r.current = {};
    if (r.storage.size != 0) {
      spare_.push_back(std::exchange(r.storage, {}));
    }
    if (r.released_bytes != r.total) {
      return false;
    }
    r.released_bytes = 0;
    r.requests_parts = false;
    return true;
  }

 private:
  struct buffer {
    owned_array<std::byte> bytes;
    std::size_t size = 0;
  };
  struct reading {
    std::size_t released_bytes = 0;  ///< bytes of the message
    std::size_t total = 0;
    chunk current;
    buffer storage;                   ///< holds the part, unless it is at its place
    bool requests_parts = false;      ///< it cannot be read
    std::size_t requested_bytes = 0;  ///< not supplied yet
  };

  [[nodiscard]] reading& reading_of(rank_type peer, std::uint32_t lane) noexcept {
    return readings_[std::size_t{peer} * lane_count + lane];
  }

  [[nodiscard]] buffer take(std::size_t bytes) {
    while (!spare_.empty()) {
      buffer b = std::move(spare_.back());
      spare_.pop_back();
      if (b.size >= bytes) {
        return b;
      }
    }
    std::size_t const size = bytes < usual_part ? usual_part : bytes;
    return {owned_array<std::byte>(size), size};
  }

  Memory const* memory_;
  owned_array<reading> readings_;
  std::vector<buffer> spare_;
};

}  // namespace tutti::detail::shared_memory
