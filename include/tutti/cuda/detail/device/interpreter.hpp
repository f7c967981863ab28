// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/areas.hpp>
#include <tutti/cuda/detail/device/block_link.hpp>
#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/cuda/detail/device/scratch_layout.hpp>
#include <tutti/detail/engine/slice.hpp>
#include <tutti/extend/operation.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// The state of one operation that all thread groups of a rank share.
struct operation {
  step_table table{};
  memories buffers{};
  std::size_t count = 0;     ///< number of elements of the vector
  call call_record{};        ///< compared with the other ranks' calls
  std::uint64_t number = 0;  ///< index among this rank's operations, from 1
};

/// Runs one rank's schedule in a group of threads, on one part of every block. So the order in which elements are
/// combined, and with it the bits, is that of the engine, for any number of parts.
///
/// Peers read this rank's memory during the operation. The four rules of the engine's `machine` make that safe; the
/// table says which readers a step waits for.
template <thread_group G, class Payload>
class interpreter {
 public:
  /// @param part one of `parts`; the same group runs it on every rank, and `board` has scratch memory for it
  constexpr interpreter(G const& g, device::board const& board, std::uint32_t group, std::uint32_t part,
                        std::uint32_t parts, device::operation const& operation, Payload const& payload)
      : g_(g),
        link_(g, board, group),
        operation_(operation),
        payload_(payload),
        slice_(slice::of_blocks(operation.count, operation.table.blocks, part, parts)),
        layout_(operation.count, operation.table.blocks, parts) {}

  /// Returns false if the operation has failed; the board has the fault. Memory is undefined then, and peers may still
  /// read it.
  constexpr bool run() const {
    step_table const& t = operation_.table;
    auto const peer_at = [&t](std::uint32_t i) { return t.peers[i]; };
    if (!link_.board().apart) {
      if (!link_.begin(t.peer_count, peer_at, operation_.buffers, operation_.call_record)) {
        return false;
      }
    } else {
      copy_in();
      if (!link_.begin(t.peer_count, peer_at, areas(operation_.buffers, link_.scratch(), link_.board().area_bytes()),
                       operation_.call_record)) {
        return false;
      }
    }
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      table_step const& s = t.steps[i];
      if ((s.step.sends() && !send(s)) || (s.step.receives() && !receive(s)) ||
          (!s.step.sends() && !s.step.receives() && !local(s))) {
        return false;
      }
    }
    return finish() && copy_out();
  }

 private:
  /// Ranks that are apart reach only copies of the user's memory. `copy_in` copies the blocks that the steps read,
  /// `copy_out` the output back. The next barrier is in `begin`.
  constexpr void copy_in() const {
    step_table const& t = operation_.table;
    for (std::uint32_t i = 0; i != t.read_count; ++i) {
      memory const m = t.reads[i].memory;
      if (operation_.buffers.base(m) != nullptr) {
        std::uint32_t const b = t.reads[i].block;
        std::size_t const size = payload_.size_of(m);
        copy_bytes(g_, operation_.buffers.read(m, slice_.begin(b), size), local_block(m, b), slice_.size(b) * size);
      }
    }
  }
  constexpr bool copy_out() const {
    step_table const& t = operation_.table;
    if (!link_.board().apart) {
      return true;
    }
    std::size_t const size = payload_.size_of(memory::output);
    for (std::uint32_t i = 0; i != t.write_count; ++i) {
      std::uint32_t const b = t.writes[i].block;
      copy_bytes(g_, local_block(memory::output, b), operation_.buffers.write(memory::output, slice_.begin(b), size),
                 slice_.size(b) * size);
    }
    return g_.barrier_and(true);
  }

  /// Announces the message. If it is about to be overwritten, a copy is sent.
  constexpr bool send(table_step const& s) const {
    endpoint const& end = s.step.send;
    if (s.snapshot) {
      if (!wait_for_readers(s.wait, s.snapshot_waits)) {
        return false;
      }
      std::size_t const size = payload_.size_of(end.memory);
      for (std::uint32_t i = 0; i != end.blocks.count; ++i) {
        std::uint32_t const b = number(end.blocks, i);
        copy_bytes(g_, local_block(end.memory, b), link_.scratch() + layout_.place(i, slice_.begin(b)) * size,
                   slice_.size(b) * size);
      }
    }
    bool const is_written = g_.barrier_and(true);
    if (link_.is_first()) {
      link_.publish_sent(end.peer, s.message, s.snapshot);
    }
    return is_written;
  }

  /// Consumes a message in the peer's memory.
  constexpr bool receive(table_step const& s) const {
    endpoint const& end = s.step.receive;
    bool const ready = !link_.is_first() || link_.wait_for_sent(end.peer, s.arrival);
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits, ready)) {
      return false;
    }
    std::size_t const size = payload_.size_of(s.step.sender_memory);
    bool const is_snapshot = link_.is_snapshot(end.peer, s.arrival);
    std::byte const* const peer_scratch = link_.scratch_of(end.peer);
    for (std::uint32_t i = 0; i != end.blocks.count; ++i) {
      std::uint32_t const b = number(end.blocks, i);
      if (slice_.size(b) != 0) {
        consume(s.step, b,
                is_snapshot ? peer_scratch + layout_.place(i, slice_.begin(b)) * size
                            : peer_block(link_.buffers(end.peer), peer_scratch, s.step.sender_memory, b));
      }
    }
    bool const is_used = g_.barrier_and(true);
    if (link_.is_first()) {
      link_.publish_consumed(end.peer, s.arrival);
    }
    return is_used;
  }
  constexpr void consume(step const& st, std::uint32_t block, std::byte const* arriving) const {
    std::size_t const n = slice_.size(block);
    std::byte* const result = local_block(st.receive.memory, block);
    if (st.action == action::copy) {
      return copy_bytes(g_, arriving, result, n * payload_.size_of(st.sender_memory));
    }
    if constexpr (requires { payload_.fold(g_, st, arriving, arriving, result, n, rank_type{}); }) {
      payload_.fold(g_, st, local_block(st.local_memory, block), arriving, result, n, link_.board().ranks);
    }
  }

  /// Runs a step without a peer.
  constexpr bool local(table_step const& s) const {
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits)) {
      return false;
    }
    endpoint const& source = s.step.send;
    endpoint const& destination = s.step.receive;
    for (std::uint32_t i = 0; i != source.blocks.count; ++i) {
      std::uint32_t const b = number(source.blocks, i);
      if (slice_.size(b) != 0) {
        payload_.local(g_, s.step, local_block(source.memory, b),
                       local_block(destination.memory, number(destination.blocks, i)), slice_.size(b),
                       link_.board().ranks);
      }
    }
    return g_.barrier_and(true);
  }

  /// Rule 2: the memory is the user's again when no peer reads it any more.
  constexpr bool finish() const {
    step_table const& t = operation_.table;
    bool good = true;
    for (std::uint32_t i = 0; link_.is_first() && good && i != t.peer_count; ++i) {
      // Messages of earlier operations count as taken, though not every operation announces that.
      good = t.peers[i].sent_count == 0 || link_.wait_for_consumed(t.peers[i].rank, t.peers[i].sent_count);
    }
    if (!g_.barrier_and(good)) {
      return false;
    }
    if (link_.is_first()) {
      link_.end(t.peer_count, [&t](std::uint32_t i) { return t.peers[i]; });
    }
    return g_.barrier_and(true);
  }

  /// Waits for peers to take messages; `good` is the result so far of the first thread.
  constexpr bool wait_for_readers(std::uint32_t first, std::uint32_t count, bool good = true) const {
    for (std::uint32_t i = first; link_.is_first() && good && i != first + count; ++i) {
      good = link_.wait_for_consumed(operation_.table.waits[i].peer, operation_.table.waits[i].messages);
    }
    return g_.barrier_and(good);
  }

  [[nodiscard]] constexpr std::uint32_t number(block_range blocks, std::uint32_t i) const noexcept {
    return (blocks.first + i) % operation_.table.blocks;
  }
  /// The part of a block in this rank's memory.
  [[nodiscard]] constexpr std::byte* local_block(memory m, std::uint32_t block) const noexcept {
    std::size_t const size = payload_.size_of(m);
    if (link_.board().apart || (m == memory::work && operation_.buffers.work == nullptr)) {
      return link_.scratch() + area_number(operation_.buffers, m) * link_.board().area_bytes() + place(block) * size;
    }
    return const_cast<std::byte*>(operation_.buffers.read(m, slice_.begin(block), size));
  }
  /// The part of a block in another rank's memory; `scratch` is that rank's.
  [[nodiscard]] constexpr std::byte const* peer_block(memories const& buffers, std::byte const* scratch, memory m,
                                                      std::uint32_t block) const noexcept {
    std::size_t const size = payload_.size_of(m);
    if (m == memory::work && buffers.work == nullptr) {
      return scratch + link_.board().area_bytes() + place(block) * size;
    }
    return link_.board().apart ? buffers.base(m) + place(block) * size : buffers.read(m, slice_.begin(block), size);
  }
  [[nodiscard]] constexpr std::size_t place(std::uint32_t block) const noexcept {
    return layout_.place(block, slice_.begin(block));
  }

  G const& g_;
  block_link<G> link_;
  device::operation const& operation_;
  Payload const& payload_;
  slice slice_;
  scratch_layout layout_;
};

}  // namespace tutti::detail::device
