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
  [[gnu::always_inline]] bool make(run_context<Communicator>& context, step const& current, std::uint32_t i,
                                   std::uint32_t steps, flow s, std::byte const* local, chunk part, std::byte* result,
                                   std::size_t size) {
    if constexpr (lends<typename Communicator::transport_type>) {
      if (!context.payload.work_fits_output() || current.receive.memory != memory::output || i + 1 == steps) {
        return false;
      }
      std::byte* const peer_result = context.transport.result_place(current.receive.peer, s);
      if (peer_result == nullptr) {
        return false;
      }
      step storage;
      step const& next = context.step_at(i + 1, storage);
      if (next.loan != loan::give_back || next.send.peer != current.receive.peer) {
        return false;
      }
      const std::size_t piece = size < piece_bytes ? piece_bytes - piece_bytes % size : size;
      const std::size_t local_size = context.payload.size_of(current.local_memory);  // may differ from `size`
      for (std::size_t offset = 0; offset < part.bytes; offset += piece) {
        const std::size_t n = part.bytes - offset < piece ? part.bytes - offset : piece;
        context.payload.fold(current, local + offset / size * local_size, part.data + offset, peer_result + offset,
                             n / size);
        std::memcpy(result + offset, peer_result + offset, n);
      }
      peer_result_ = peer_result;
      return true;
    }
    return false;
  }

  /// The bytes to give back: `bytes`, or their copy at the peer if `make` has written one.
  [[nodiscard]] std::span<std::byte const> take(std::span<std::byte const> bytes) noexcept {
    if (peer_result_ == nullptr) {
      return bytes;
    }
    // Same pointer type as of other spans: a second type would make the compiler check span's constraints again.
    std::byte const* const result = peer_result_;
    peer_result_ = nullptr;
    return {result, bytes.size()};
  }

 private:
  static constexpr std::size_t piece_bytes = 4096;  ///< fits the L1 cache together with two operands

  std::byte* peer_result_ = nullptr;
};

}  // namespace tutti::detail::engine
