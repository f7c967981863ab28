// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/device/block_link.hpp>
#include <tutti/detail/device/combine.hpp>
#include <tutti/detail/engine/slice.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::detail::device {

/// What is the same for all groups of threads of a rank in one operation.
struct operation {
  step_table table{};
  memories mine{};
  std::size_t count = 0;   ///< elements of the vector
  std::uint64_t call = 0;  ///< its fingerprint
};

/// One rank's schedule, run by a group of threads on its part of every block: so the order in which elements are
/// combined, and with it the bits, is that of the engine, whatever the number of groups.
///
/// Peers read this rank's memory while it is worked in. The four rules of the engine's `machine` make that safe; which
/// readers a step waits for says the table.
template <thread_group G, class Payload>
class interpreter {
 public:
  /// @pre `groups` groups run the operation, on every rank
  constexpr interpreter(G const& g, board const& on, std::uint32_t group, std::uint32_t groups, operation const& what,
                        Payload const& payload)
      : g_(g),
        link_(g, on, group),
        what_(what),
        payload_(payload),
        cut_(slice::of_blocks(what.count, what.table.blocks, group, groups)) {}

  /// False: the board's fault says why. Then memory holds anything, and peers may still read it.
  constexpr bool run() const {
    step_table const& t = what_.table;
    if (!link_.begin(t.peers, t.peer_count, what_.mine, what_.call)) {
      return false;
    }
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      table_step const& s = t.steps[i];
      if ((s.what.sends() && !send(s)) || (s.what.receives() && !receive(s)) ||
          (!s.what.sends() && !s.what.receives() && !local(s))) {
        return false;
      }
    }
    return finish();
  }

 private:
  /// Makes the message known; if it is about to be overwritten, a copy of it.
  constexpr bool send(table_step const& s) const {
    endpoint const& end = s.what.send;
    if (s.snapshot) {
      if (!wait_for_readers(s.wait, s.snapshot_waits)) {
        return false;
      }
      std::size_t at = 0;
      each_run(end.blocks, [&](slice::run const& run) {
        std::size_t const size = payload_.size_of(end.memory);
        copy_bytes(g_, what_.mine.read(end.memory, run.begin, size), link_.snapshot() + at, run.count * size);
        at += run.count * size;
      });
    }
    bool const written = g_.all(true);
    if (link_.is_first()) {
      link_.tell_sent(end.peer, s.message, s.snapshot);
    }
    return written;
  }

  /// Takes what a peer has made known, where it lies.
  constexpr bool receive(table_step const& s) const {
    endpoint const& end = s.what.receive;
    bool const ready = !link_.is_first() || link_.wait_sent(end.peer, s.arrival);
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits, ready)) {
      return false;
    }
    std::size_t const size = payload_.size_of(s.what.arrives);
    bool const is_snapshot = link_.is_snapshot(end.peer, s.arrival);
    std::byte const* copied = is_snapshot ? link_.snapshot_of(end.peer) : nullptr;
    each_run(end.blocks, [&](slice::run const& run) {
      if (is_snapshot) {
        use(s.what, run, copied);
        copied += run.count * size;
      } else if (run.count != 0) {
        use(s.what, run, link_.where(end.peer).read(s.what.arrives, run.begin, size));
      }
    });
    bool const used = g_.all(true);
    if (link_.is_first()) {
      link_.tell_taken(end.peer, s.arrival);
    }
    return used;
  }
  constexpr void use(step const& st, slice::run const& run, std::byte const* arriving) const {
    memory const to = st.receive.memory;
    std::byte* const result = what_.mine.write(to, run.begin, payload_.size_of(to));
    if (st.how == action::copy) {
      return copy_bytes(g_, arriving, result, run.count * payload_.size_of(st.arrives));
    }
    if constexpr (requires { payload_.fold(g_, st, arriving, arriving, result, run.count, rank_type{}); }) {
      payload_.fold(g_, st, what_.mine.read(st.local, run.begin, payload_.size_of(st.local)), arriving, result,
                    run.count, link_.on().ranks);
    }
  }

  /// A step without a peer.
  constexpr bool local(table_step const& s) const {
    if (!wait_for_readers(s.wait + s.snapshot_waits, s.write_waits)) {
      return false;
    }
    endpoint const& from = s.what.send;
    endpoint const& to = s.what.receive;
    for (std::uint32_t done = 0; done < from.blocks.count;) {
      slice::run const here = cut_.run_at(from.blocks, done);
      slice::run const there = cut_.run_at(to.blocks, done);
      if (here.count != 0) {
        payload_.local(g_, s.what, what_.mine.read(from.memory, here.begin, payload_.size_of(from.memory)),
                       what_.mine.write(to.memory, there.begin, payload_.size_of(to.memory)), here.count,
                       link_.on().ranks);
      }
      done += here.blocks;
    }
    return g_.all(true);
  }

  /// Rule 2: the memory is the user's again when no peer reads it any more.
  constexpr bool finish() const {
    step_table const& t = what_.table;
    bool good = true;
    for (std::uint32_t i = 0; link_.is_first() && good && i != t.peer_count; ++i) {
      good = link_.wait_taken(t.peers[i].rank, t.peers[i].sent);
    }
    if (!g_.all(good)) {
      return false;
    }
    if (link_.is_first()) {
      link_.end(t.peers, t.peer_count);
    }
    return g_.all(true);
  }

  /// `good` is what the first thread knows already.
  constexpr bool wait_for_readers(std::uint32_t first, std::uint32_t count, bool good = true) const {
    for (std::uint32_t i = first; link_.is_first() && good && i != first + count; ++i) {
      good = link_.wait_taken(what_.table.waits[i].peer, what_.table.waits[i].messages);
    }
    return g_.all(good);
  }

  template <class F>
  constexpr void each_run(block_range blocks, F const& f) const {
    for (std::uint32_t done = 0; done < blocks.count;) {
      slice::run const run = cut_.run_at(blocks, done);
      f(run);
      done += run.blocks;
    }
  }

  G const& g_;
  block_link<G> link_;
  operation const& what_;
  Payload const& payload_;
  slice cut_;
};

}  // namespace tutti::detail::device
