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
  memories mine{};
  std::size_t count = 0;     ///< number of elements of the vector
  call what{};               ///< compared with the other ranks' calls
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
  /// @param part one of `parts`; the same group runs it on every rank, and `on` has scratch memory for it
  constexpr interpreter(G const& g, board const& on, std::uint32_t group, std::uint32_t part, std::uint32_t parts,
                        operation const& what, Payload const& payload)
      : g_(g),
        link_(g, on, group),
        what_(what),
        payload_(payload),
        cut_(slice::of_blocks(what.count, what.table.blocks, part, parts)),
        layout_(what.count, what.table.blocks, parts) {}

  /// Returns false if the operation has failed; the board has the fault. Memory is undefined then, and peers may still
  /// read it.
  constexpr bool run() const {
    step_table const& t = what_.table;
    auto const peer_at = [&t](std::uint32_t i) { return t.peers[i]; };
    if (!link_.on().apart) {
      if (!link_.begin(t.peer_count, peer_at, what_.mine, what_.what)) {
        return false;
      }
    } else {
      take_in();
      if (!link_.begin(t.peer_count, peer_at, areas(what_.mine, link_.scratch(), link_.on().area_bytes()),
                       what_.what)) {
        return false;
      }
    }
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      table_step const& s = t.steps[i];
      if ((s.what.sends() && !send(s)) || (s.what.receives() && !receive(s)) ||
          (!s.what.sends() && !s.what.receives() && !local(s))) {
        return false;
      }
    }
    return finish() && give_out();
  }

 private:
  /// Ranks that are apart reach only copies of the user's memory. `take_in` copies the blocks that the steps read,
  /// `give_out` the output back. The next barrier is in `begin`.
  constexpr void take_in() const {
    step_table const& t = what_.table;
    for (std::uint32_t i = 0; i != t.read_count; ++i) {
      memory const m = t.reads[i].of;
      if (what_.mine.base(m) != nullptr) {
        std::uint32_t const b = t.reads[i].block;
        std::size_t const size = payload_.size_of(m);
        copy_bytes(g_, what_.mine.read(m, cut_.begin(b), size), own(m, b), cut_.size(b) * size);
      }
    }
  }
  constexpr bool give_out() const {
    step_table const& t = what_.table;
    if (!link_.on().apart) {
      return true;
    }
    std::size_t const size = payload_.size_of(memory::output);
    for (std::uint32_t i = 0; i != t.write_count; ++i) {
      std::uint32_t const b = t.writes[i].block;
      copy_bytes(g_, own(memory::output, b), what_.mine.write(memory::output, cut_.begin(b), size),
                 cut_.size(b) * size);
    }
    return g_.all(true);
  }

  /// Announces the message. If it is about to be overwritten, a copy is sent.
  constexpr bool send(table_step const& s) const {
    endpoint const& end = s.what.send;
    if (s.snapshot) {
      if (!wait_for_readers(s.wait, s.snapshot_waits)) {
        return false;
      }
      std::size_t const size = payload_.size_of(end.memory);
      for (std::uint32_t i = 0; i != end.blocks.count; ++i) {
        std::uint32_t const b = number(end.blocks, i);
        copy_bytes(g_, own(end.memory, b), link_.scratch() + layout_.place(i, cut_.begin(b)) * size,
                   cut_.size(b) * size);
      }
    }
    bool const written = g_.all(true);
    if (link_.is_first()) {
      link_.tell_sent(end.peer, s.message, s.snapshot);
    }
    return written;
  }

  /// Consumes a message in the peer's memory.
  constexpr bool receive(table_step const& s) const {
    endpoint const& end = s.what.receive;
    bool const ready = !link_.is_first() || link_.wait_sent(end.peer, s.arrival);
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits, ready)) {
      return false;
    }
    std::size_t const size = payload_.size_of(s.what.arrives);
    bool const is_snapshot = link_.is_snapshot(end.peer, s.arrival);
    std::byte const* const there = link_.scratch_of(end.peer);
    for (std::uint32_t i = 0; i != end.blocks.count; ++i) {
      std::uint32_t const b = number(end.blocks, i);
      if (cut_.size(b) != 0) {
        use(s.what, b,
            is_snapshot ? there + layout_.place(i, cut_.begin(b)) * size
                        : theirs(link_.where(end.peer), there, s.what.arrives, b));
      }
    }
    bool const used = g_.all(true);
    if (link_.is_first()) {
      link_.tell_taken(end.peer, s.arrival);
    }
    return used;
  }
  constexpr void use(step const& st, std::uint32_t block, std::byte const* arriving) const {
    std::size_t const n = cut_.size(block);
    std::byte* const result = own(st.receive.memory, block);
    if (st.action == action::copy) {
      return copy_bytes(g_, arriving, result, n * payload_.size_of(st.arrives));
    }
    if constexpr (requires { payload_.fold(g_, st, arriving, arriving, result, n, rank_type{}); }) {
      payload_.fold(g_, st, own(st.local, block), arriving, result, n, link_.on().ranks);
    }
  }

  /// Runs a step without a peer.
  constexpr bool local(table_step const& s) const {
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits)) {
      return false;
    }
    endpoint const& from = s.what.send;
    endpoint const& to = s.what.receive;
    for (std::uint32_t i = 0; i != from.blocks.count; ++i) {
      std::uint32_t const b = number(from.blocks, i);
      if (cut_.size(b) != 0) {
        payload_.local(g_, s.what, own(from.memory, b), own(to.memory, number(to.blocks, i)), cut_.size(b),
                       link_.on().ranks);
      }
    }
    return g_.all(true);
  }

  /// Rule 2: the memory is the user's again when no peer reads it any more.
  constexpr bool finish() const {
    step_table const& t = what_.table;
    bool good = true;
    for (std::uint32_t i = 0; link_.is_first() && good && i != t.peer_count; ++i) {
      // Messages of earlier operations count as taken, though not every operation announces that.
      good = t.peers[i].sent == 0 || link_.wait_taken(t.peers[i].rank, t.peers[i].sent);
    }
    if (!g_.all(good)) {
      return false;
    }
    if (link_.is_first()) {
      link_.end(t.peer_count, [&t](std::uint32_t i) { return t.peers[i]; });
    }
    return g_.all(true);
  }

  /// Waits for peers to take messages; `good` is the result so far of the first thread.
  constexpr bool wait_for_readers(std::uint32_t first, std::uint32_t count, bool good = true) const {
    for (std::uint32_t i = first; link_.is_first() && good && i != first + count; ++i) {
      good = link_.wait_taken(what_.table.waits[i].peer, what_.table.waits[i].messages);
    }
    return g_.all(good);
  }

  [[nodiscard]] constexpr std::uint32_t number(block_range blocks, std::uint32_t i) const noexcept {
    return (blocks.first + i) % what_.table.blocks;
  }
  /// The part of a block in this rank's memory.
  [[nodiscard]] constexpr std::byte* own(memory m, std::uint32_t block) const noexcept {
    std::size_t const size = payload_.size_of(m);
    if (link_.on().apart || (m == memory::work && what_.mine.work == nullptr)) {
      return link_.scratch() + area_number(what_.mine, m) * link_.on().area_bytes() + place(block) * size;
    }
    return const_cast<std::byte*>(what_.mine.read(m, cut_.begin(block), size));
  }
  /// The part of a block in another rank's memory; `scratch` is that rank's.
  [[nodiscard]] constexpr std::byte const* theirs(memories const& of, std::byte const* scratch, memory m,
                                                  std::uint32_t block) const noexcept {
    std::size_t const size = payload_.size_of(m);
    if (m == memory::work && of.work == nullptr) {
      return scratch + link_.on().area_bytes() + place(block) * size;
    }
    return link_.on().apart ? of.base(m) + place(block) * size : of.read(m, cut_.begin(block), size);
  }
  [[nodiscard]] constexpr std::size_t place(std::uint32_t block) const noexcept {
    return layout_.place(block, cut_.begin(block));
  }

  G const& g_;
  block_link<G> link_;
  operation const& what_;
  Payload const& payload_;
  slice cut_;
  scratch_layout layout_;
};

}  // namespace tutti::detail::device
