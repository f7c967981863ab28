// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/run_context.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/transport.hpp>

#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Folds into memory of the peer. If the next step returns the result to the peer that has lent its block, this rank
/// folds piece by piece into that block's result place, and copies each piece from the cache to its own output. A cache
/// line of the peer that is read and written at once moves between the caches once; one that is read first and written
/// later, twice.
template <class Communicator>
class result_at_peer {
 public:
  /// Folds a chunk of step `i` of `steps` into the peer's memory. Returns false, and does nothing, if that is not
  /// possible.
  /// @param size size of an arriving element
  [[gnu::always_inline]] bool make(run_context<Communicator>& c, step const& now, std::uint32_t i, std::uint32_t steps,
                                   flow s, std::byte const* local, chunk part, std::byte* result, std::size_t size) {
    if constexpr (lends<typename Communicator::transport_type>) {
      if (!c.payload.work_fits_output() || now.receive.memory != memory::output || i + 1 == steps) {
        return false;
      }
      std::byte* const there = c.transport.result_place(now.receive.peer, s);
      if (there == nullptr) {
        return false;
      }
      step place;
      step const& next = c.step_at(i + 1, place);
      if (next.loan != loan::give_back || next.send.peer != now.receive.peer) {
        return false;
      }
      const std::size_t piece = size < piece_bytes ? piece_bytes - piece_bytes % size : size;
      const std::size_t local_size = c.payload.size_of(now.local);  // may differ from `size`
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

  /// The bytes to give back: `bytes`, or their copy at the peer if `make` has written one.
  [[nodiscard]] std::span<std::byte const> take(std::span<std::byte const> bytes) noexcept {
    if (made_ == nullptr) {
      return bytes;
    }
    // Same pointer type as of other spans: a second type would make the compiler check span's constraints again.
    std::byte const* const made = made_;
    made_ = nullptr;
    return {made, bytes.size()};
  }

 private:
  static constexpr std::size_t piece_bytes = 4096;  ///< fits the L1 cache together with two operands

  std::byte* made_ = nullptr;
};

}  // namespace tutti::detail::engine
