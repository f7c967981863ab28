// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/common_locations.hpp>
#include <tutti/detail/shared_memory/large_elements.hpp>
#include <tutti/detail/shared_memory/loopback_world.hpp>
#include <tutti/detail/shared_memory/outbox.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <string>

namespace tutti::inline v0_1_0 {

/// A transport between threads of one process. A short message travels in one or two cache lines; a longer one is
/// copied to a chunk, and combined from there; a long one is combined straight from the sender's buffer.
///
/// Cost: 576 bytes for each ordered pair of ranks and lane, and one descriptor per rank.
/// Thread safety: one thread at a time, which is the rank's own; instances are independent.
class loopback {
  using world = detail::loopback_world;
  using endpoint_type = detail::mailbox_endpoint<detail::common_locations>;

 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "loopback";
  /// True: `spawn` starts ranks as threads of this process.
  static constexpr bool in_process = true;
  /// True: no thread is cancelled in the rare system calls, which wake a peer or sleep.
  static constexpr bool shields_cancellation = true;
  /// True: faults name ranks by their numbers in the world.
  static constexpr bool names_world_ranks = true;

  /// Joins the world. Collective.
  /// @throws error(failure::join) if the ranks are not threads of one process, or the process has no descriptors left;
  /// and the errors of the rendezvous
  template <rendezvous M>
  explicit loopback(M& meet)
      : world_(join(meet)),
        endpoint_(world_->segment(), meet, detail::common_locations{}, world_->bells(), world_->barrier()),
        outbox_(endpoint_, world_->chunks(meet.rank())),
        elements_(meet.size()) {}

  loopback(loopback const&) = delete;
  loopback& operator=(loopback const&) = delete;
  /// Leaves the world. Peers that still wait for this rank get failure::peer_lost.
  TUTTI_COLD ~loopback() { endpoint_.leave(none_died); }

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
  [[nodiscard]] bool shares(rank_type, flow s, std::span<std::byte const> bytes) const noexcept {
    return outbox_.shares(s, bytes.size());
  }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return outbox_.send(peer, s, bytes, granule, shares(peer, s, bytes));
  }
  /// Offers a message like `send`, with the place where the receiver may write its result.
  send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule, std::byte* back) {
    return outbox_.lends(bytes.size()) ? outbox_.lend(peer, s, bytes, back) : send(peer, s, bytes, granule);
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

  /// The next chunk of a peer's message, of whole granules, or nothing yet; throws error (mismatch) if calls differ.
  chunk view(rank_type peer, flow s, receive_request const& request) {
    if (request.granule > outbox_.chunk_bytes()) [[unlikely]] {
      return elements_.view(
          peer, s.lane, request.granule, [&] { return endpoint_.view(peer, s); }, [&] { endpoint_.release(peer, s); });
    }
    return endpoint_.view(peer, s);
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s) noexcept { return endpoint_.has_message(peer, s); }
  /// Releases the chunk of `view`.
  void release(rank_type peer, flow s) noexcept {
    elements_.release(peer, s.lane);
    endpoint_.release(peer, s);
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
  /// Does nothing: messages need no progress.
  void poll() noexcept {}

  /// Returns a descriptor that becomes readable when there may be work; poll once more, then sleep.
  int arm() noexcept {
    endpoint_.sleep();
    return world_->bells().descriptor_of(rank());
  }
  /// Undoes `arm`.
  void disarm() noexcept {
    endpoint_.wake();
    world_->bells().clear(rank());
  }

  /// The time on the transport's clock.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }
  /// The fault of this world, if any; cheap, because it is called while waiting.
  [[nodiscard, gnu::always_inline]] tutti::fault fault() const noexcept { return endpoint_.fault(); }
  /// Does nothing: threads do not die alone, and a rank that leaves announces it.
  void probe() noexcept {}
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault cause) noexcept { endpoint_.revoke(cause); }
  /// Does as `revoke` does, for any thread and for signal handlers.
  void revoke_in_memory(tutti::fault const& cause) noexcept { endpoint_.revoke(cause); }
  /// The fault, for any thread and for signal handlers.
  [[nodiscard]] tutti::fault fault_in_memory() const noexcept { return endpoint_.fault(); }
  /// Tells the other ranks the reason why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& cause) noexcept { endpoint_.announce_departure(cause); }
  /// Returns once nothing accesses this rank's memory any more; called after a fault.
  void quiesce() noexcept { endpoint_.quiesce(none_died); }

 private:
  static constexpr auto none_died = [](rank_type) noexcept { return false; };

  template <rendezvous M>
  static world::handle join(M& meet) {
    std::string text;
    world::handle joined_world = meet.rank() == 0 ? world::create(meet.size(), text) : world::handle();
    text = meet.exchange(text)[0];
    if (meet.rank() != 0) {
      joined_world = world::find(text);
    }
    if (joined_world && !text.empty()) {
      joined_world->segment().construct(meet.rank());
    }
    auto const ready = meet.exchange(joined_world ? "yes" : "no");
    for (rank_type r = 0; r < meet.size(); ++r) {
      if (text.empty() || ready[r] != "yes") {
        world::refuse(detail::world_rank(meet, meet.rank()), detail::world_rank(meet, r), text.empty());
      }
    }
    return joined_world;
  }

  world::handle world_;
  endpoint_type endpoint_;
  detail::outbox<endpoint_type> outbox_;
  detail::large_elements elements_;
};

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/loopback.hpp>
#endif
