// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/topology.hpp>

#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// The memories of an operation that coincide.
struct shared_places {
  bool input_is_output = false;
  bool work_is_output = true;

  [[nodiscard]] constexpr bool coincide(memory a, memory b) const noexcept {
    if (a == b) {
      return true;
    }
    bool const has_input = a == memory::input || b == memory::input;
    bool const has_work = a == memory::work || b == memory::work;
    return (!has_input || input_is_output) && (!has_work || work_is_output);
  }
};

/// A condition: a peer has taken `messages` messages of this operation.
struct reader_wait {
  rank_type peer;
  std::uint32_t messages;
};

/// A step, with facts computed before the operation. Waits are ranges of `step_table::waits`.
struct table_step {
  tutti::step step{};
  bool snapshot = false;             ///< overwrites its sent block, so a copy is sent (rule 3)
  std::uint32_t message = 0;         ///< number of its message to the peer in this operation, from 1
  std::uint32_t arrival = 0;         ///< number of the message that it receives
  std::uint32_t wait = 0;            ///< index of its first wait
  std::uint32_t snapshot_waits = 0;  ///< waits before the snapshot, until the previous one is no longer read
  std::uint32_t write_waits = 0;     ///< waits after those, before anything is written (rule 4)
};

/// A peer, with the numbers of messages to and from it in this operation.
struct table_peer {
  rank_type rank;
  std::uint32_t sent_count = 0;
  std::uint32_t received_count = 0;
};

/// A block of one of a rank's memories.
struct table_block {
  tutti::memory memory;
  std::uint32_t block;
};

/// One rank's steps of one operation, as threads of a device read them. Trivially copyable; does not own the arrays.
struct step_table {
  table_step const* steps = nullptr;
  reader_wait const* waits = nullptr;
  table_peer const* peers = nullptr;
  table_block const* reads = nullptr;   ///< blocks that steps read before any step writes them
  table_block const* writes = nullptr;  ///< blocks of the output that steps write
  std::uint32_t step_count = 0;
  std::uint32_t peer_count = 0;
  std::uint32_t read_count = 0;
  std::uint32_t write_count = 0;
  std::uint32_t blocks = 1;
};

/// Computes and owns such a table, on the host: the readers that each step waits for, and the sends that need a
/// snapshot. Devices need not search for overlapping blocks.
class step_list {
 public:
  /// @throws precondition_error if there are more ranks than `most_ranks`, or more messages to one of them than
  ///         `most_messages`
  template <class Topology, class Op>
    requires offers<Topology, Op>
  step_list(Topology const& topology, Op const& op, rank_type n, rank_type me, shared_places places)
      : places_(places), blocks_(topology.blocks(op, n)) {
    expects(n <= most_ranks, "a device's schedules are of at most ", most_ranks, " ranks, not ", n);
    std::uint32_t const count = topology.steps(op, n, me);
    steps_.reserve(count);
    for (std::uint32_t i = 0; i != count; ++i) {
      add(topology.at(op, n, me, i));
    }
  }

  [[nodiscard]] step_table view() const noexcept {
    return {.steps = steps_.data(),
            .waits = waits_.data(),
            .peers = peers_.data(),
            .reads = reads_.data(),
            .writes = writes_.data(),
            .step_count = static_cast<std::uint32_t>(steps_.size()),
            .peer_count = static_cast<std::uint32_t>(peers_.size()),
            .read_count = static_cast<std::uint32_t>(reads_.size()),
            .write_count = static_cast<std::uint32_t>(writes_.size()),
            .blocks = blocks_};
  }

 private:
  /// A message that a peer reads in this rank's memory or its snapshot.
  struct reader {
    endpoint end;
    std::uint32_t message;
    bool of_snapshot;
  };

  void add(step const& s) {
    table_step t{.step = s, .wait = static_cast<std::uint32_t>(waits_.size())};
    t.snapshot = s.sends() && s.receives() && overlap(s.send, s.receive);
    if (t.snapshot) {
      for (reader const& r : readers_) {
        t.snapshot_waits += r.of_snapshot && wait_for(r) ? 1U : 0U;
      }
    }
    if (s.sends()) {
      t.message = ++peer(s.send.peer).sent_count;
      expects(t.message <= most_messages, "a device's schedules send at most ", most_messages,
              " messages to one rank; take another topology");
      readers_.push_back({s.send, t.message, t.snapshot});
    }
    if (s.receives()) {
      t.arrival = ++peer(s.receive.peer).received_count;
    }
    if (s.receives() || !s.sends()) {
      for (reader const& r : readers_) {
        t.write_waits += !r.of_snapshot && overlap(r.end, s.receive) && wait_for(r) ? 1U : 0U;
      }
    }
    steps_.push_back(t);
    note(s);
  }
  /// Notes the blocks of this rank's memories that the step reads and writes.
  void note(step const& s) {
    bool const is_local = !s.sends() && !s.receives();
    for (std::uint32_t i = 0; (s.sends() || is_local) && i != s.send.blocks.count; ++i) {
      read({s.send.memory, (s.send.blocks.first + i) % blocks_});
    }
    for (std::uint32_t i = 0; (s.receives() || is_local) && i != s.receive.blocks.count; ++i) {
      std::uint32_t const block = (s.receive.blocks.first + i) % blocks_;
      if (s.receives() && s.action != action::copy) {
        read({s.local_memory, block});
      }
      written_blocks_.push_back({s.receive.memory, block});
      if (s.receive.memory == memory::output && !has(writes_, {memory::output, block})) {
        writes_.push_back({memory::output, block});
      }
    }
  }
  void read(table_block const& b) {
    if (!has(written_blocks_, b) && !has(reads_, b)) {
      reads_.push_back(b);
    }
  }
  [[nodiscard]] bool has(std::vector<table_block> const& blocks, table_block const& b) const {
    for (table_block const& candidate : blocks) {
      if (candidate.block == b.block && places_.coincide(candidate.memory, b.memory)) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool overlap(endpoint const& a, endpoint const& b) const noexcept {
    return places_.coincide(a.memory, b.memory) && a.blocks.overlaps(b.blocks, blocks_);
  }
  /// Adds a wait for the reader. Returns false if an earlier wait covers it.
  bool wait_for(reader const& r) {
    for (reader_wait const& w : waits_) {
      if (w.peer == r.end.peer && w.messages >= r.message) {
        return false;
      }
    }
    waits_.push_back({r.end.peer, r.message});
    return true;
  }
  [[nodiscard]] table_peer& peer(rank_type p) {
    for (table_peer& entry : peers_) {
      if (entry.rank == p) {
        return entry;
      }
    }
    peers_.push_back({p});
    return peers_.back();
  }

  shared_places places_;
  std::uint32_t blocks_;
  std::vector<table_step> steps_;
  std::vector<reader_wait> waits_;
  std::vector<table_peer> peers_;
  std::vector<reader> readers_;
  std::vector<table_block> reads_;
  std::vector<table_block> writes_;
  std::vector<table_block> written_blocks_;
};

}  // namespace tutti::detail::device
