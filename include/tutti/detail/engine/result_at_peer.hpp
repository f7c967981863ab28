// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/run_context.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/transport.hpp>

#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::inline engine {

/// What a step finishes and the next one gives back to the same peer: it is made where the peer wants it, piece by
/// piece, and copied from the cache to where this rank wants it. A line of the peer's that is read and written at once
/// crosses over between the caches once; read first and written later, twice.
template <class Communicator>
class result_at_peer {
 public:
  /// Makes it of a chunk of step `i` of `steps`, if it may. @param size of an element that arrives
  [[gnu::always_inline]] bool make(run_context<Communicator>& c, step const& now, std::uint32_t i, std::uint32_t steps,
                                   flow s, std::byte const* local, chunk part, std::byte* result, std::size_t size) {
    if constexpr (lends<typename Communicator::transport_type>) {
      if (!c.payload.work_fits_output() || now.receive.memory != memory::output || i + 1 == steps) {
        return false;
      }
      std::byte* const there = c.transport.home(now.receive.peer, s);
      if (there == nullptr) {
        return false;
      }
      step place;
      step const& next = c.step_at(i + 1, place);
      if (next.loan != loan::given_back || next.send.peer != now.receive.peer) {
        return false;
      }
      const std::size_t piece = size < piece_bytes ? piece_bytes - piece_bytes % size : size;
      const std::size_t local_size = c.payload.size_of(now.local);  // of a contribution, it may be another
      for (std::size_t at = 0; at < part.bytes; at += piece) {
        const std::size_t n = part.bytes - at < piece ? part.bytes - at : piece;
        c.payload.fold(now, local + at / size * local_size, part.data + at, there + at, n / size);
        std::memcpy(result + at, there + at, n);
      }
      made_ = there;
      return true;
    }
    return false;
  }

  /// What is to be given back: these bytes, or as many where they have been made.
  [[nodiscard]] std::span<std::byte const> take(std::span<std::byte const> bytes) noexcept {
    if (made_ == nullptr) {
      return bytes;
    }
    // Of the type that other spans are made of: for another one the compiler checks pointers anew.
    std::byte const* const made = made_;
    made_ = nullptr;
    return {made, bytes.size()};
  }

 private:
  static constexpr std::size_t piece_bytes = 4096;  ///< stays in the first-level cache, with two operands

  std::byte* made_ = nullptr;
};

}  // namespace tutti::detail::engine
