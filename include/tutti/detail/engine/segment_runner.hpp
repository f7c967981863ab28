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
/// arrive: copy, or fold with local ones. In a step the runner offers the rest of its message to the transport, then
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
///   2. a segment is complete only when all readers of its messages have released them;
///   3. a step that overwrites what it sends, sends a snapshot of it, unless the transport copies the whole message in
///      the first offer: arriving elements would replace those still to be sent or read. Receiving cannot wait for the
///      send, since in an exchange each send may need the peer's receive;
///   4. nothing is written over a block that a reader may still need.
template <class Communicator>
class segment_runner {
  using transport_type = typename Communicator::transport_type;

 public:
  using context_type = run_context<Communicator>;

  /// Begins a segment with the first step of its schedule.
  /// @throws the exceptions of transport and topology; precondition_error if the step leaves wrong values in a memory
  [[gnu::always_inline]] void start(context_type& context, slice segment_slice, flow s) {
    slice_ = segment_slice;
    flow_ = s;
    step_index_ = 0;
    step_count_ = context.schedule.steps;
    readers_.clear();
    last_send_ = {};
    join_aggregation(context);
    load(context);
  }

  /// Returns true when the segment is complete and its memory is the user's again.
  /// @throws error on a mismatched call, or a peer that violates the protocol; precondition_error if a step leaves
  /// wrong values in a memory; exceptions of transport, topology, reduction and tracer
  [[gnu::always_inline]] bool advance(context_type& context) {
    while (step_index_ != step_count_) {
      if (step_->sends() || step_->receives()) {
        if (!is_sent_) {
          send(context);
        }
        if (!is_received_) {  // receives even if the send is stuck: the peer may wait for it
          receive(context);
        }
        if (!is_sent_ || !is_received_) {
          return false;
        }
      } else if (!run_local_step(context)) {
        return false;
      }
      ++step_index_;
      load(context);
    }
    return readers_.all_released(context.transport, flow_);
  }

  [[nodiscard]] std::uint32_t step_number() const noexcept { return step_index_; }
  /// A number that usually changes when bytes have been sent or received: a hint for waiting.
  [[nodiscard]] std::uint64_t progress_count() const noexcept {
    return (std::uint64_t{step_index_} << 40) + received_part_.blocks + received_part_.bytes + sent_part_.blocks +
           sent_part_.total;
  }
  [[nodiscard]] flow current_flow() const noexcept { return flow_; }

  /// The rank that the segment waits for, if any.
  [[nodiscard]] rank_type awaits() const noexcept {
    if (step_index_ == step_count_) {
      return readers_.first();
    }
    if (!is_received_) {
      return writable_ || readers_.empty() ? step_->receive.peer : readers_.first();
    }
    return !is_sent_ ? step_->send.peer : readers_.first();  // a reader of the target of a local step
  }

 private:
  /// Progress of one end of a step: blocks finished, and bytes of the current interval.
  struct progress {
    std::uint32_t blocks = 0;
    std::size_t bytes = 0;   ///< sent or received of the current interval
    std::size_t total = 0;   ///< bytes of the step sent so far, over all intervals
    bool is_traced = false;  ///< the send has been traced
  };

  [[gnu::always_inline]] void load(context_type& context) {
    if (step_index_ == step_count_) {
      return;
    }
    step_ = &context.step_at(step_index_, step_storage_);
    if (context.payload.memories_differ()) {
      if (std::string_view const wrong = misplacement(*step_); !wrong.empty()) [[unlikely]] {
        refuse_step(wrong);
      }
    }
    sent_part_ = {};
    received_part_ = {};
    is_sent_ = !step_->sends();
    is_received_ = !step_->receives();
    writable_ = false;
    snapshot_taken_ = false;
    overwrites_itself_ = step_->sends() && step_->receives() &&
                         context.memories.are_same(step_->send.memory, step_->receive.memory) &&
                         step_->send.blocks.overlaps(step_->receive.blocks, slice_.blocks());
    announce(context);
  }

  /// Declares to the transport this rank's part at each in-network aggregator, and the length of
  /// messages to it.
  void join_aggregation(context_type& context) {
    if constexpr (aggregates<transport_type>) {
      rank_type aggregator = rank_type{context.extent};
      for (aggregator_share const& share : context.schedule.aggregators) {
        aggregator_summary const& summary = *share.summary;
        context.transport.join_aggregation(
            flow_, {.aggregator = aggregator++,
                    .workers = summary.workers,
                    .worker = share.worker_index,
                    .operation = context.payload.in_network(),
                    .bytes = slice_.elements_in(summary.blocks) * context.payload.size_of(summary.source_memory),
                    .combine = &payload::combine,
                    .context = &context.payload});
      }
    }
  }

  /// Tells the transport if this step sends the same, unchanged bytes as the previous send, to any rank. The transport
  /// may then reuse its copy of them.
  void announce(context_type& context) {
    if constexpr (reuses_copies<transport_type>) {
      endpoint const& send_end = step_->send;
      endpoint const& receive_end = step_->receive;
      if (step_->sends()) {
        bool const is_repeat =
            last_send_.peer != no_rank && last_send_.memory == send_end.memory && last_send_.blocks == send_end.blocks;
        context.transport.next_message(flow_, is_repeat);
        last_send_ = send_end;
      }
      bool const writes = step_->receives() || !step_->sends();
      if (writes && context.memories.are_same(last_send_.memory, receive_end.memory) &&
          last_send_.blocks.overlaps(receive_end.blocks, slice_.blocks())) {
        last_send_ = {};
      }
    }
  }

  /// Offers the rest of the step's message.
  [[gnu::always_inline]] void send(context_type& context) {
    endpoint const& end = step_->send;
    std::size_t const size = context.payload.size_of(end.memory);
    std::size_t const granule = context.payload.granule(size);
    for (;;) {
      auto const interval = slice_.interval_at(end.blocks, sent_part_.blocks);
      std::size_t const bytes = interval.count * size;
      std::byte const* source = bytes == 0 ? nullptr : context.memories.read(end.memory, interval.begin, size);
      if (readers_.full() && !readers_.reap(context.transport, flow_)) {
        return;
      }
      if constexpr (shares_memory<transport_type>) {
        if (overwrites_itself_ && !snapshot_taken_ && context.transport.shares(end.peer, flow_, {source, bytes}) &&
            !take_snapshot(context)) {
          return;
        }
      }
      if (snapshot_taken_) {
        source = snapshot_.get() + sent_part_.total - sent_part_.bytes;
      }
      const time_point begin_time = context.traced_now();
      tutti::send_result const result =
          offer(context, interval, {source + sent_part_.bytes, bytes - sent_part_.bytes}, granule);
      if (result.is_accepted) {
        if (listens(context.trace) && !sent_part_.is_traced) {
          sent_part_.is_traced = true;
          context.note(event_kind::send, begin_time, flow_, step_index_, end.peer, bytes_to_send(context));
        }
        if (result.release_ticket != 0) {
          readers_.add({result.release_ticket, end.peer, end.memory, snapshot_taken_ ? block_range{} : end.blocks,
                        snapshot_taken_});
        }
        sent_part_.bytes += result.bytes;
        sent_part_.total += result.bytes;
        if (sent_part_.bytes == bytes) {
          sent_part_.blocks += interval.blocks;
          sent_part_.bytes = 0;
          if (sent_part_.blocks >= end.blocks.count) {
            is_sent_ = true;
            return;
          }
        }
      }
      // The peer may be stuck in the same exchange: receiving must not wait for the rest of the send.
      if (overwrites_itself_ && !snapshot_taken_ && !take_snapshot(context)) {
        return;
      }
      if (!result.is_accepted) {
        return;
      }
    }
  }

  /// Sends the rest of an interval: plainly, lent to the peer, or given back to it.
  [[gnu::always_inline]] tutti::send_result offer(context_type& context, slice::interval const& interval,
                                                  std::span<std::byte const> bytes, std::size_t granule) {
    endpoint const& end = step_->send;
    if constexpr (lends<transport_type>) {
      bool const whole = sent_part_.total == 0 && interval.blocks >= end.blocks.count && !bytes.empty();
      if (whole && step_->loan == loan::give_back) {
        return context.transport.give_back(end.peer, flow_, at_peer_.take(bytes), granule);
      }
      std::size_t const size = context.payload.size_of(memory::output);
      if (whole && step_->loan == loan::lend && size == context.payload.size_of(end.memory)) {
        return context.transport.lend(end.peer, flow_, bytes, granule,
                                      context.memories.write(memory::output, interval.begin, size));
      }
    }
    return context.transport.send(end.peer, flow_, bytes, granule);
  }

  /// Uses the chunks that have arrived.
  [[gnu::always_inline]] void receive(context_type& context) {
    endpoint const& end = step_->receive;
    if (!writable_) {
      if ((overwrites_itself_ && !is_sent_ && !snapshot_taken_) || !may_write(context, end)) {
        return;
      }
      writable_ = true;
    }
    const std::size_t size = context.payload.size_of(step_->sender_memory);
    const std::size_t granule = context.payload.granule(size);
    for (;;) {
      auto const interval = slice_.interval_at(end.blocks, received_part_.blocks);
      const std::size_t bytes = interval.count * size;
      bool const copies = step_->action == action::copy;
      std::byte* const destination =
          copies && bytes != 0 ? context.memories.write(end.memory, interval.begin, size) + received_part_.bytes
                               : nullptr;
      const chunk part = context.transport.view(end.peer, flow_, {bytes - received_part_.bytes, granule, destination});
      if (!part) {
        return;
      }
      std::size_t const left = bytes - received_part_.bytes;
      if (part.bytes != left && (part.bytes > left || part.bytes % granule != 0 || part.bytes == 0)) [[unlikely]] {
        refuse_length(context.rank, end.peer, part.bytes, left, granule);
      }
      context.note(event_kind::receive, context.traced_now(), flow_, step_index_, end.peer, part.bytes);
      if (part.bytes != 0) {
        use(context, interval, part, size);
      }
      context.transport.release(end.peer, flow_);
      received_part_.bytes += part.bytes;
      if (received_part_.bytes == bytes) {
        received_part_.blocks += interval.blocks;
        received_part_.bytes = 0;
        if (received_part_.blocks >= end.blocks.count) {
          is_received_ = true;
          return;
        }
      }
    }
  }

  /// Combines or stores a chunk of an interval of elements.
  [[gnu::always_inline]] void use(context_type& context, slice::interval const& interval, chunk part,
                                  std::size_t size) {
    const memory result_memory = step_->receive.memory;
    if (step_->action == action::copy) {
      std::byte* const result = context.memories.write(result_memory, interval.begin, size) + received_part_.bytes;
      if (part.data != result) {
        context.compute(part.bytes, [&] { context.payload.copy(part.data, result, part.bytes); });
      }
      return;
    }
    bool const whole = part.bytes == interval.count * size;  // usual case: no divisions
    const std::size_t first = whole ? interval.begin : interval.begin + received_part_.bytes / size;
    const std::size_t count = whole ? interval.count : part.bytes / size;
    std::byte* const result = context.memories.write(result_memory, first, context.payload.size_of(result_memory));
    std::byte const* const local =
        context.memories.read(step_->local_memory, first, context.payload.size_of(step_->local_memory));
    context.compute(part.bytes, [&] {
      if (!fold_at_peer(context, local, part, result, size)) {
        context.payload.fold(*step_, local, part.data, result, count);
      }
    });
    context.note(event_kind::fold, context.traced_now(), flow_, step_index_, step_->receive.peer, part.bytes);
  }

  bool fold_at_peer(context_type& context, std::byte const* local, chunk part, std::byte* result, std::size_t size) {
    return at_peer_.make(context, *step_, step_index_, step_count_, flow_, local, part, result, size);
  }

  /// Runs a step without a peer; returns false while a reader needs the blocks that it writes.
  bool run_local_step(context_type& context) {
    if (!may_write(context, step_->receive)) {
      return false;
    }
    const std::size_t source_size = context.payload.size_of(step_->send.memory);
    const std::size_t destination_size = context.payload.size_of(step_->receive.memory);
    for (std::uint32_t block_index = 0; block_index < step_->send.blocks.count;) {
      auto const source = slice_.interval_at(step_->send.blocks, block_index);
      auto const destination = slice_.interval_at(step_->receive.blocks, block_index);
      if (source.count != 0) {
        context.compute(source.count * source_size, [&] {
          context.payload.convert(*step_, context.memories.read(step_->send.memory, source.begin, source_size),
                                  context.memories.write(step_->receive.memory, destination.begin, destination_size),
                                  source.count);
        });
      }
      block_index += source.blocks;
    }
    return true;
  }

  /// Rule 4: true if no reader needs the blocks any more.
  bool may_write(context_type& context, endpoint const& end) {
    return readers_.empty() || readers_.none_needs(context.transport, flow_, [&](reader const& r) {
      return context.memories.are_same(r.memory, end.memory) && r.blocks.overlaps(end.blocks, slice_.blocks());
    });
  }

  /// The length of the step's message.
  [[nodiscard]] std::size_t bytes_to_send(context_type const& context) const {
    return slice_.elements_in(step_->send.blocks) * context.payload.size_of(step_->send.memory);
  }

  /// Copies the elements that the step sends (rule 3). There is one snapshot buffer: returns false while readers of the
  /// previous snapshot need it.
  bool take_snapshot(context_type& context) {
    if (!readers_.none_needs(context.transport, flow_, [](reader const& r) { return r.of_snapshot; })) {
      return false;
    }
    endpoint const& end = step_->send;
    const std::size_t size = context.payload.size_of(end.memory);
    const std::size_t bytes = bytes_to_send(context);
    snapshot_.reserve(context.transport, bytes);
    std::size_t offset = 0;
    for (std::uint32_t block_index = 0; block_index < end.blocks.count;) {
      auto const interval = slice_.interval_at(end.blocks, block_index);
      if (interval.count != 0) {
        std::memcpy(snapshot_.get() + offset, context.memories.read(end.memory, interval.begin, size),
                    interval.count * size);
      }
      offset += interval.count * size;
      block_index += interval.blocks;
    }
    snapshot_taken_ = true;
    return true;
  }

  slice slice_;
  flow flow_{};
  std::uint32_t step_index_ = 0;
  std::uint32_t step_count_ = 0;
  step step_storage_{};
  step const* step_ = &step_storage_;
  endpoint last_send_{};  ///< the last message, if its blocks are unchanged; else empty
  progress sent_part_;
  progress received_part_;
  bool is_sent_ = true;
  bool is_received_ = true;
  bool writable_ = false;
  bool overwrites_itself_ = false;
  bool snapshot_taken_ = false;
  result_at_peer<Communicator> at_peer_;
  engine_memory<transport_type> snapshot_;
  readers readers_;
};

}  // namespace tutti::detail::engine
