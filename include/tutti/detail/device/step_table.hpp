// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/device/board.hpp>
#include <tutti/expects.hpp>
#include <tutti/topology/concept.hpp>

#include <cstdint>
#include <vector>

namespace tutti::detail::device {

/// Which memories of an operation are one.
struct shared_places {
  bool input_is_output = false;
  bool work_is_output = true;

  [[nodiscard]] constexpr bool same(memory a, memory b) const noexcept {
    if (a == b) {
      return true;
    }
    bool const has_input = a == memory::input || b == memory::input;
    bool const has_work = a == memory::work || b == memory::work;
    return (!has_input || input_is_output) && (!has_work || work_is_output);
  }
};

/// A peer must have taken that many messages of this operation.
struct taken_before {
  rank_type peer;
  std::uint32_t messages;
};

/// A step, and what was found out about it before the operation began. Waits are ranges of `step_table::waits`.
struct table_step {
  step what{};
  bool snapshot = false;             ///< it overwrites what it sends: a copy is sent (rule 3)
  std::uint32_t message = 0;         ///< the number of its message to the peer in this operation, from 1 on
  std::uint32_t arrival = 0;         ///< and what it receives
  std::uint32_t wait = 0;            ///< the first of its waits
  std::uint32_t snapshot_waits = 0;  ///< how many come before the snapshot: the last one is not read any more then
  std::uint32_t write_waits = 0;     ///< how many follow, before anything is written (rule 4)
};

/// A peer, and how many messages this operation sends to and receives from it.
struct table_peer {
  rank_type rank;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
};

/// One rank's steps of one operation, as threads of a device read them. Trivially copyable; the arrays are another's.
struct step_table {
  table_step const* steps = nullptr;
  taken_before const* waits = nullptr;
  table_peer const* peers = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t peer_count = 0;
  std::uint32_t blocks = 1;
};

/// Computes and owns such a table, on the host: which readers each step waits for, and what is sent as a snapshot. A
/// device does not look for overlapping blocks.
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
            .step_count = static_cast<std::uint32_t>(steps_.size()),
            .peer_count = static_cast<std::uint32_t>(peers_.size()),
            .blocks = blocks_};
  }

 private:
  /// A message that a peer reads in this rank's memory, or in its snapshot.
  struct reader {
    endpoint end;
    std::uint32_t message;
    bool of_snapshot;
  };

  void add(step const& s) {
    table_step t{.what = s, .wait = static_cast<std::uint32_t>(waits_.size())};
    t.snapshot = s.sends() && s.receives() && overlap(s.send, s.receive);
    if (t.snapshot) {
      for (reader const& r : readers_) {
        t.snapshot_waits += r.of_snapshot && wait_for(r) ? 1U : 0U;
      }
    }
    if (s.sends()) {
      t.message = ++peer(s.send.peer).sent;
      expects(t.message <= most_messages, "a device's schedules send at most ", most_messages, " messages to one rank");
      readers_.push_back({s.send, t.message, t.snapshot});
    }
    if (s.receives()) {
      t.arrival = ++peer(s.receive.peer).received;
    }
    if (s.receives() || !s.sends()) {
      for (reader const& r : readers_) {
        t.write_waits += !r.of_snapshot && overlap(r.end, s.receive) && wait_for(r) ? 1U : 0U;
      }
    }
    steps_.push_back(t);
  }
  [[nodiscard]] bool overlap(endpoint const& a, endpoint const& b) const noexcept {
    return places_.same(a.memory, b.memory) && a.blocks.overlaps(b.blocks, blocks_);
  }
  /// Whether that has not been waited for before.
  bool wait_for(reader const& r) {
    for (taken_before const& w : waits_) {
      if (w.peer == r.end.peer && w.messages >= r.message) {
        return false;
      }
    }
    waits_.push_back({r.end.peer, r.message});
    return true;
  }
  [[nodiscard]] table_peer& peer(rank_type p) {
    for (table_peer& known : peers_) {
      if (known.rank == p) {
        return known;
      }
    }
    peers_.push_back({p});
    return peers_.back();
  }

  shared_places places_;
  std::uint32_t blocks_;
  std::vector<table_step> steps_;
  std::vector<taken_before> waits_;
  std::vector<table_peer> peers_;
  std::vector<reader> readers_;
};

}  // namespace tutti::detail::device
