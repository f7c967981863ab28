// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/engine_memory.hpp>
#include <tutti/detail/engine/readers.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/result_at_peer.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/detail/engine/slice.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Runs the schedule of one segment: a state machine of fixed size. `advance` does as much as it can without waiting.
/// The thread inside a call on the communicator (`test`, `wait`, `poll`) calls it; the library starts no thread.
///
/// A step is at most one send and one receive, both under way at the same time, and an action on the elements that
/// arrive: copy, or fold with local ones. In a step the machine offers the rest of its message to the transport, then
/// uses the chunks that have arrived, even if the send is stuck. The next step begins when both have completed. A step
/// without a peer is local. docs/design/README.md has a picture.
///
/// The receive of a step asks the transport for the next message of its peer on this flow. An unexpected message (no
/// step has asked for it yet) stays in the transport, which buffers a limited number of bytes for each lane (its
/// window), until a step asks. A full window delays the sender on this lane only. The transport throws
/// `failure::mismatch` for a message of another call; a chunk that exceeds the message, or ends inside an element, is a
/// `failure::protocol`.
///
/// Topology and reduction are behind pointers, so this is compiled once for each communicator type.
///
/// Four rules make it safe to work in the user's own memory while peers read from it:
///   1. a reader releases each message as soon as it has used it;
///   2. a machine is done only when all readers of its messages have released them;
///   3. a step that overwrites what it sends, sends a snapshot of it, unless the transport accepts the whole message in
///      the first offer: arriving elements would replace those still to be sent or read. Receiving cannot wait for the
///      send, since in an exchange each send may need the peer's receive;
///   4. nothing is written over a block that a reader may still need.
template <class Communicator>
class machine {
  using transport_type = typename Communicator::transport_type;

 public:
  using context = run_context<Communicator>;

  [[gnu::always_inline]] void start(context& c, slice cut, flow s) {
    cut_ = cut;
    flow_ = s;
    at_ = 0;
    total_ = c.schedule.steps;
    readers_.clear();
    last_sent_ = {};
    join_aggregation(c);
    load(c);
  }

  /// Returns true when the segment is complete and its memory is the user's again.
  /// @throws error on a mismatched call, or a peer that violates the protocol
  [[gnu::always_inline]] bool advance(context& c) {
    while (at_ != total_) {
      if (step_->sends() || step_->receives()) {
        if (!sent_) {
          send(c);
        }
        if (!received_) {  // receives even if the send is stuck: the peer may wait for it
          receive(c);
        }
        if (!sent_ || !received_) {
          return false;
        }
      } else if (!local(c)) {
        return false;
      }
      ++at_;
      load(c);
    }
    return readers_.all_released(c.transport, flow_);
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept { return at_; }
  /// A number that usually changes when bytes have been sent or received: a hint for waiting.
  [[nodiscard]] std::uint64_t moved() const noexcept {
    return (std::uint64_t{at_} << 40) + in_.blocks + in_.bytes + out_.blocks + out_.total;
  }
  [[nodiscard]] flow current_flow() const noexcept { return flow_; }

  /// The rank that the machine waits for, if any.
  [[nodiscard]] rank_type awaits() const noexcept {
    if (at_ == total_) {
      return readers_.first();
    }
    if (!received_) {
      return writable_ || readers_.empty() ? step_->receive.peer : readers_.first();
    }
    return !sent_ ? step_->send.peer : readers_.first();  // a reader of the target of a local step
  }

 private:
  /// Progress of one end of a step: blocks finished, and bytes of the current run.
  struct progress {
    std::uint32_t blocks = 0;
    std::size_t bytes = 0;  ///< sent or received of the current run
    std::size_t total = 0;  ///< bytes of the step sent so far, over all runs
    bool begun = false;     ///< the send has been traced
  };

  [[gnu::always_inline]] void load(context& c) {
    if (at_ == total_) {
      return;
    }
    step_ = &c.step_at(at_, own_);
    if (c.payload.memories_differ()) {
      if (std::string_view const wrong = misplacement(*step_); !wrong.empty()) [[unlikely]] {
        refuse_step(wrong);
      }
    }
    out_ = {};
    in_ = {};
    sent_ = !step_->sends();
    received_ = !step_->receives();
    writable_ = false;
    snapshot_taken_ = false;
    overwrites_itself_ = step_->sends() && step_->receives() &&
                         c.memories.same(step_->send.memory, step_->receive.memory) &&
                         step_->send.blocks.overlaps(step_->receive.blocks, cut_.blocks());
    announce(c);
  }

  /// Declares to the transport this rank's part at each in-network aggregator ("helper" in names), and the length of
  /// messages to it.
  void join_aggregation(context& c) {
    if constexpr (aggregates<transport_type>) {
      rank_type helper = rank_type{c.extent};
      for (helper_share const& mine : c.schedule.helpers) {
        helper_summary const& all = *mine.of;
        c.transport.join_aggregation(flow_, {.aggregator = helper++,
                                             .workers = all.workers,
                                             .worker = mine.mine,
                                             .operation = c.payload.in_network(),
                                             .bytes = cut_.elements_in(all.blocks) * c.payload.size_of(all.from),
                                             .combine = &payload::combine,
                                             .of = &c.payload});
      }
    }
  }

  /// Tells the transport if this step sends the same, unchanged bytes as the previous send, to any rank. The transport
  /// may then reuse its copy of them.
  void announce(context& c) {
    if constexpr (reuses_copies<transport_type>) {
      endpoint const& out = step_->send;
      endpoint const& in = step_->receive;
      if (step_->sends()) {
        bool const same =
            last_sent_.peer != no_rank && last_sent_.memory == out.memory && last_sent_.blocks == out.blocks;
        c.transport.next_message(flow_, same);
        last_sent_ = out;
      }
      bool const writes = step_->receives() || !step_->sends();
      if (writes && c.memories.same(last_sent_.memory, in.memory) &&
          last_sent_.blocks.overlaps(in.blocks, cut_.blocks())) {
        last_sent_ = {};
      }
    }
  }

  /// Offers the rest of the step's message.
  [[gnu::always_inline]] void send(context& c) {
    endpoint const& end = step_->send;
    std::size_t const size = c.payload.size_of(end.memory);
    std::size_t const granule = c.payload.granule(size);
    for (;;) {
      auto const run = cut_.run_at(end.blocks, out_.blocks);
      std::size_t const bytes = run.count * size;
      std::byte const* from = bytes == 0 ? nullptr : c.memories.read(end.memory, run.begin, size);
      if (readers_.full() && !readers_.reap(c.transport, flow_)) {
        return;
      }
      if constexpr (shares_memory<transport_type>) {
        if (overwrites_itself_ && !snapshot_taken_ && c.transport.shares(end.peer, flow_, {from, bytes}) &&
            !take_snapshot(c)) {
          return;
        }
      }
      if (snapshot_taken_) {
        from = snapshot_.get() + out_.total - out_.bytes;
      }
      const time_point before = c.traced_now();
      tutti::send_result const result = offer(c, run, {from + out_.bytes, bytes - out_.bytes}, granule);
      if (result.is_accepted) {
        if (listens(c.trace) && !out_.begun) {
          out_.begun = true;
          c.note(event_kind::send, before, flow_, at_, end.peer, bytes_to_send(c));
        }
        if (result.release_ticket != 0) {
          readers_.add({result.release_ticket, end.peer, end.memory, snapshot_taken_ ? block_range{} : end.blocks,
                        snapshot_taken_});
        }
        out_.bytes += result.bytes;
        out_.total += result.bytes;
        if (out_.bytes == bytes) {
          out_.blocks += run.blocks;
          out_.bytes = 0;
          if (out_.blocks >= end.blocks.count) {
            sent_ = true;
            return;
          }
        }
      }
      // The peer may be stuck in the same exchange: receiving must not wait for the rest of the send.
      if (overwrites_itself_ && !snapshot_taken_ && !take_snapshot(c)) {
        return;
      }
      if (!result.is_accepted) {
        return;
      }
    }
  }

  /// Sends the rest of a run: plainly, lent to the peer, or given back to it.
  [[gnu::always_inline]] tutti::send_result offer(context& c, slice::run const& run, std::span<std::byte const> bytes,
                                                  std::size_t granule) {
    endpoint const& end = step_->send;
    if constexpr (lends<transport_type>) {
      bool const whole = out_.total == 0 && run.blocks >= end.blocks.count && !bytes.empty();
      if (whole && step_->loan == loan::give_back) {
        return c.transport.give_back(end.peer, flow_, at_peer_.take(bytes), granule);
      }
      std::size_t const size = c.payload.size_of(memory::output);
      if (whole && step_->loan == loan::lend && size == c.payload.size_of(end.memory)) {
        return c.transport.lend(end.peer, flow_, bytes, granule, c.memories.write(memory::output, run.begin, size));
      }
    }
    return c.transport.send(end.peer, flow_, bytes, granule);
  }

  /// Uses the chunks that have arrived.
  [[gnu::always_inline]] void receive(context& c) {
    endpoint const& end = step_->receive;
    if (!writable_) {
      if ((overwrites_itself_ && !sent_ && !snapshot_taken_) || !may_write(c, end)) {
        return;
      }
      writable_ = true;
    }
    const std::size_t size = c.payload.size_of(step_->arrives);
    const std::size_t granule = c.payload.granule(size);
    for (;;) {
      auto const run = cut_.run_at(end.blocks, in_.blocks);
      const std::size_t bytes = run.count * size;
      bool const copies = step_->action == action::copy;
      std::byte* const place =
          copies && bytes != 0 ? c.memories.write(end.memory, run.begin, size) + in_.bytes : nullptr;
      const chunk part = c.transport.view(end.peer, flow_, {bytes - in_.bytes, granule, place});
      if (!part) {
        return;
      }
      std::size_t const left = bytes - in_.bytes;
      if (part.bytes != left && (part.bytes > left || part.bytes % granule != 0 || part.bytes == 0)) [[unlikely]] {
        refuse_length(c.rank, end.peer, part.bytes, left, granule);
      }
      c.note(event_kind::receive, c.traced_now(), flow_, at_, end.peer, part.bytes);
      if (part.bytes != 0) {
        use(c, run, part, size);
      }
      c.transport.release(end.peer, flow_);
      in_.bytes += part.bytes;
      if (in_.bytes == bytes) {
        in_.blocks += run.blocks;
        in_.bytes = 0;
        if (in_.blocks >= end.blocks.count) {
          received_ = true;
          return;
        }
      }
    }
  }

  /// Combines or stores a chunk of a run of elements.
  [[gnu::always_inline]] void use(context& c, slice::run const& run, chunk part, std::size_t size) {
    const memory to = step_->receive.memory;
    if (step_->action == action::copy) {
      std::byte* const result = c.memories.write(to, run.begin, size) + in_.bytes;
      if (part.data != result) {
        c.compute(part.bytes, [&] { c.payload.copy(part.data, result, part.bytes); });
      }
      return;
    }
    bool const whole = part.bytes == run.count * size;  // usual case: no divisions
    const std::size_t first = whole ? run.begin : run.begin + in_.bytes / size;
    const std::size_t count = whole ? run.count : part.bytes / size;
    std::byte* const result = c.memories.write(to, first, c.payload.size_of(to));
    std::byte const* const local = c.memories.read(step_->local, first, c.payload.size_of(step_->local));
    c.compute(part.bytes, [&] {
      if (!made_there(c, local, part, result, size)) {
        c.payload.fold(*step_, local, part.data, result, count);
      }
    });
    c.note(event_kind::fold, c.traced_now(), flow_, at_, step_->receive.peer, part.bytes);
  }

  bool made_there(context& c, std::byte const* local, chunk part, std::byte* result, std::size_t size) {
    return at_peer_.make(c, *step_, at_, total_, flow_, local, part, result, size);
  }

  /// Runs a step without a peer.
  bool local(context& c) {
    if (!may_write(c, step_->receive)) {
      return false;
    }
    const std::size_t from_size = c.payload.size_of(step_->send.memory);
    const std::size_t to_size = c.payload.size_of(step_->receive.memory);
    for (std::uint32_t done = 0; done < step_->send.blocks.count;) {
      auto const from = cut_.run_at(step_->send.blocks, done);
      auto const to = cut_.run_at(step_->receive.blocks, done);
      if (from.count != 0) {
        c.compute(from.count * from_size, [&] {
          c.payload.local(*step_, c.memories.read(step_->send.memory, from.begin, from_size),
                          c.memories.write(step_->receive.memory, to.begin, to_size), from.count);
        });
      }
      done += from.blocks;
    }
    return true;
  }

  /// Rule 4: true if no reader needs the blocks any more.
  bool may_write(context& c, endpoint const& end) {
    return readers_.empty() || readers_.none_needs(c.transport, flow_, [&](reader const& r) {
      return c.memories.same(r.memory, end.memory) && r.blocks.overlaps(end.blocks, cut_.blocks());
    });
  }

  /// The length of the step's message.
  [[nodiscard]] std::size_t bytes_to_send(context const& c) const {
    return cut_.elements_in(step_->send.blocks) * c.payload.size_of(step_->send.memory);
  }

  /// Copies the elements that the step sends (rule 3). There is one snapshot buffer: returns false while readers of the
  /// previous snapshot need it.
  bool take_snapshot(context& c) {
    if (!readers_.none_needs(c.transport, flow_, [](reader const& r) { return r.of_snapshot; })) {
      return false;
    }
    endpoint const& end = step_->send;
    const std::size_t size = c.payload.size_of(end.memory);
    const std::size_t bytes = bytes_to_send(c);
    snapshot_.reserve(c.transport, bytes);
    std::size_t at = 0;
    for (std::uint32_t done = 0; done < end.blocks.count;) {
      auto const run = cut_.run_at(end.blocks, done);
      if (run.count != 0) {
        std::memcpy(snapshot_.get() + at, c.memories.read(end.memory, run.begin, size), run.count * size);
      }
      at += run.count * size;
      done += run.blocks;
    }
    snapshot_taken_ = true;
    return true;
  }

  slice cut_;
  flow flow_{};
  std::uint32_t at_ = 0;
  std::uint32_t total_ = 0;
  step own_{};
  step const* step_ = &own_;
  endpoint last_sent_{};  ///< the last message, if its blocks are unchanged; else empty
  progress out_;
  progress in_;
  bool sent_ = true;
  bool received_ = true;
  bool writable_ = false;
  bool overwrites_itself_ = false;
  bool snapshot_taken_ = false;
  result_at_peer<Communicator> at_peer_;
  engine_memory<transport_type> snapshot_;
  readers readers_;
};

}  // namespace tutti::detail::engine
