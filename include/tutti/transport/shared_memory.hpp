// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/attached_messages.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>
#include <tutti/detail/shared_memory/large_elements.hpp>
#include <tutti/detail/shared_memory/outbox.hpp>
#include <tutti/detail/shared_memory/peer_reader.hpp>
#include <tutti/detail/shared_memory/shared_world.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

namespace tutti::inline v0_1_0 {

/// A transport between processes of one host. A short message travels in one or two cache lines; a longer one is
/// copied once, into a chunk of shared memory, and combined from there. A long one is copied by the receiver out of
/// the sender's memory, or sent on request if the system does not allow that. A buffer in shared memory, by
/// tutti::allocator, is read in place, without a copy.
///
/// A process that is killed leaves nothing behind at any time: neither memory nor sockets have names in a file system.
///
/// Cost: 576 bytes for each ordered pair of ranks and lane, the chunks, and one descriptor per rank's process and
/// three more.
/// Thread safety: one thread at a time; instances are independent.
template <class Doorbells>  // one instance; a class would cost each unit that includes tutti.hpp 0.06 s
class basic_shared_memory {
  using endpoint_type = detail::mailbox_endpoint<detail::shared_locations>;

 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "shared_memory";
  /// False: `spawn` starts ranks as processes.
  static constexpr bool in_process = false;
  /// True: no thread is cancelled in the rare system calls, which wake a peer, read a peer's memory, or sleep.
  static constexpr bool shields_cancellation = true;
  /// True: faults name ranks by their numbers in the world.
  static constexpr bool names_world_ranks = true;
  /// The options for construction; see `open_transport`.
  using options = shared_memory_options;

  /// Joins the world. Collective.
  /// @throws error(failure::join) on every rank if one cannot map the memory, or there is not enough memory; and the
  /// errors of the rendezvous
  template <rendezvous M>
  explicit basic_shared_memory(M& meet, options const& settings = {})
      : world_(meet, settings),
        endpoint_(world_.mail(), meet, world_.locations(), world_.bells(), world_.barrier()),
        outbox_(endpoint_, world_.chunks(meet.rank())),
        attached_messages_(meet.size()),
        reader_(world_, meet.size()),
        elements_(meet.size()) {}

  basic_shared_memory(basic_shared_memory const&) = delete;
  basic_shared_memory& operator=(basic_shared_memory const&) = delete;
  /// Leaves the world. Peers that still wait for this rank get failure::peer_lost.
  ~basic_shared_memory() {
    if (world_.bells().own_descriptor() >= 0) {  // else this is a copy in a forked child, which takes no part
      endpoint_.leave([this](rank_type r) { return has_died(r); });
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return endpoint_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return endpoint_.size(); }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) noexcept {
    endpoint_.begin(s, call_info);
    outbox_.begin(s, call_info);
  }
  /// Closes a flow whose messages are all complete.
  void end(flow) noexcept {}
  /// Announces a message; `repeats_bytes` is true if it has the bytes of the previous one on that flow.
  void next_message(flow s, bool repeats_bytes) noexcept { outbox_.next_message(s, repeats_bytes); }

  /// True if a peer would read these bytes in place.
  [[nodiscard]] bool shares(rank_type peer, flow s, std::span<std::byte const> bytes) const noexcept {
    return attaches(peer, s, bytes) || lies_in_shared_memory(s, bytes);
  }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    if (attaches(peer, s, bytes)) [[unlikely]] {
      send_result const result = outbox_.send(peer, s, bytes, granule, true);
      if (result.is_accepted) {
        attached_messages_.add(peer, s.lane, result.release_ticket, bytes.first(result.bytes));
      }
      return result;
    }
    return outbox_.send(peer, s, bytes, granule, lies_in_shared_memory(s, bytes));
  }
  /// Offers a message like `send`, with the place where the receiver may write its result.
  send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule, std::byte* back) {
    bool const is_lendable = outbox_.lends(bytes.size()) && endpoint_.locations().is_shared(bytes.data()) &&
                             endpoint_.locations().is_shared(back);
    return is_lendable ? outbox_.lend(peer, s, bytes, back) : send(peer, s, bytes, granule);
  }
  /// Offers bytes that the peer has lent, like `send`; writes them to the peer's place if possible.
  send_result give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return endpoint_.has_loan(peer, s, bytes.size()) ? endpoint_.give_back(peer, s, bytes)
                                                     : send(peer, s, bytes, granule);
  }
  /// The place where the result of lent bytes in `view` may be made at once; null if there is none.
  [[nodiscard]] std::byte* result_place(rank_type peer, flow s) noexcept { return endpoint_.result_place(peer, s); }
  /// True if the buffer of the send with this ticket is free.
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket release_ticket) noexcept {
    return endpoint_.is_released(peer, s, release_ticket);
  }

  /// The memory of tutti::allocator, which peers read without a copy.
  [[nodiscard]] intrusive_pointer<memory_source> memory() const noexcept { return world_.arena(); }

  /// The next chunk of a peer's message, of whole granules, or nothing yet; throws error (mismatch) if calls differ.
  chunk view(rank_type peer, flow s, receive_request const& request) {
    if (request.granule > outbox_.chunk_bytes()) [[unlikely]] {
      return elements_.view(
          peer, s.lane, request.granule, [&] { return next(peer, s, request); }, [&] { release_message(peer, s); });
    }
    return next(peer, s, request);
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s) noexcept { return endpoint_.has_message(peer, s); }
  /// Releases the chunk of `view`.
  void release(rank_type peer, flow s) noexcept {
    elements_.release(peer, s.lane);
    release_message(peer, s);
  }
  /// Throws as `view` does if that peer is at the same flow with another call, even if it sends nothing.
  void detect_mismatch(rank_type peer, flow s) { endpoint_.detect_mismatch(peer, s); }
  /// True if a peer, from which no message is expected, is known to have left. A death is a fault instead.
  [[nodiscard]] bool has_left(rank_type peer) const noexcept { return endpoint_.has_departed(peer); }
  /// Answers ranks that have asked what this rank waits for.
  void publish_wait(wait_report const& w) noexcept { endpoint_.publish_wait(w); }
  /// Asks a peer what it waits for; false while it cannot be reached.
  bool query_wait(rank_type peer) noexcept { return endpoint_.query_wait(peer); }
  /// The last wait report of a rank, this one included, for a lane.
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const noexcept {
    return endpoint_.reported_wait(r, lane);
  }
  /// Makes progress: sends the parts of private memory that peers request. Never waits.
  void poll() {
    if (!attached_messages_.empty()) [[unlikely]] {
      attached_messages_.serve(endpoint_, outbox_);
    }
  }

  /// Returns a descriptor that becomes readable when there may be work; poll once more, then sleep.
  int arm() noexcept {
    endpoint_.sleep();
    return world_.bells().own_descriptor();
  }
  /// Undoes `arm`.
  void disarm() noexcept {
    endpoint_.wake();
    world_.bells().clear();
  }

  /// The time on the transport's clock.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }
  /// The fault of this world, if any; cheap, because it is called while waiting.
  [[nodiscard, gnu::always_inline]] tutti::fault fault() const noexcept { return endpoint_.fault(); }
  /// Probes for dead peers. Cost: one system call per peer, unless another rank has just probed.
  void probe() noexcept {
    if (!endpoint_.claims_probe(now())) {
      return;
    }
    for (rank_type r = 0; r < size() && !fault(); ++r) {
      if (has_died(r)) {
        endpoint_.revoke({failure::peer_lost, endpoint_.world_number(r), endpoint_.world_number(rank())});
      }
    }
  }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault cause) noexcept { endpoint_.revoke(cause); }
  /// Does as `revoke` does, for any thread and for signal handlers.
  void revoke_in_memory(tutti::fault const& cause) noexcept { endpoint_.revoke(cause); }
  /// The fault, for any thread and for signal handlers.
  [[nodiscard]] tutti::fault fault_in_memory() const noexcept { return endpoint_.fault(); }
  /// Tells the other ranks the reason why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& cause) noexcept { endpoint_.announce_departure(cause); }
  /// Returns once nothing accesses this rank's memory any more; called after a fault.
  void quiesce() noexcept {
    endpoint_.quiesce([this](rank_type r) { return has_died(r); });
  }

 private:
  friend detail::shared_world<Doorbells>;

  /// The world, whose memory its splits share.
  [[nodiscard]] detail::shared_world<Doorbells> const& world() const noexcept { return world_; }
  /// The next chunk of a message, from shared or from private memory.
  chunk next(rank_type peer, flow s, receive_request const& request) {
    chunk const c = endpoint_.view(peer, s);
    if (c.bytes <= detail::mailbox::max_inline ||
        !detail::shared_locations::is_private(endpoint_.message_location(peer, s))) {
      return c;
    }
    if (!reader_.requests_parts(peer, s.lane)) [[likely]] {
      if (chunk const part = reader_.view(peer, s.lane, reinterpret_cast<std::uintptr_t>(c.data), c.bytes, request)) {
        return part;
      }
      if (has_died(peer)) {
        endpoint_.revoke({failure::peer_lost, endpoint_.world_number(peer), endpoint_.world_number(rank())});
        return {};
      }
      reader_.request_parts(peer, s.lane);
    }
    return reader_.view_copy(
        peer, s.lane, c.bytes,
        [&](std::size_t bytes) {
          return outbox_.send_size(bytes < request.bytes ? bytes : request.bytes, outbox_.chunk_bytes(),
                                   request.granule);
        },
        [&](std::size_t begin, std::size_t bytes) {
          endpoint_.request_part(peer, s, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(bytes)});
        },
        [&] { return endpoint_.part(peer, s); });
  }
  void release_message(rank_type peer, flow s) noexcept {
    if (world_.shape().attach_from == SIZE_MAX || reader_.release(peer, s.lane)) {
      endpoint_.release(peer, s);
    }
  }

  /// True if the peer copies the bytes out of this rank's private memory itself.
  [[nodiscard]] bool attaches(rank_type peer, flow s, std::span<std::byte const> bytes) const noexcept {
    return bytes.size() >= world_.shape().attach_from && bytes.size() > detail::mailbox::max_inline &&
           outbox_.moves(s) && !attached_messages_.has_refused(peer);
  }

  /// True if the peer reads the bytes in place, in shared memory.
  [[nodiscard]] bool lies_in_shared_memory(flow s, std::span<std::byte const> bytes) const noexcept {
    return outbox_.shares(s, bytes.size()) && endpoint_.locations().is_shared(bytes.data());
  }

  /// True if a rank's process has ended before the rank left in order. A rank that leaves announces its departure
  /// before it closes its doorbell, hence the second check.
  [[nodiscard]] bool has_died(rank_type r) const noexcept {
    return r != rank() && !endpoint_.has_departed(r) && world_.has_ended(r) && !endpoint_.has_departed(r);
  }

  detail::shared_world<Doorbells> world_;
  endpoint_type endpoint_;
  detail::outbox<endpoint_type> outbox_;
  detail::attached_messages attached_messages_;
  detail::peer_reader<detail::shared_world<Doorbells>> reader_;
  detail::large_elements elements_;
};

/// The transport between processes of one host, which sleep on sockets.
using shared_memory = basic_shared_memory<detail::datagram_doorbells>;

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/shared_memory.hpp>
#endif
