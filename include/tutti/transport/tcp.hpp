// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/transport.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

/// A transport between processes anywhere, over TCP. Connections are made on first use, so there are as many as the
/// schedules have edges.
///
/// Messages are sent at once, without a copy in user space at the sender, in pieces of up to `options::piece` bytes.
/// Expected messages are read from the socket straight to their place, or, to be combined, through a buffer that fits
/// into the cache. Unexpected messages are stored, up to the window of `options::window` bytes per lane; then the
/// sender waits. Once a receiver has begun a message it must keep calling `view` until the message is complete,
/// because other lanes queue behind it. A long message that is already being received is not limited by the window.
///
/// Connections from strangers to a rank's port are refused, and listed in `incidents`. If the rendezvous has a secret,
/// each connection begins with proofs that both ranks know it; the bytes that follow are neither proved nor encrypted.
///
/// Cost: a connection, with a descriptor and the system's buffers, for each peer in the schedules; unexpected
/// messages, up to options::window bytes per peer and lane.
/// Thread safety: one thread at a time; instances are independent.
class tcp {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "tcp";
  /// False: `spawn` starts ranks as processes.
  static constexpr bool in_process = false;
  /// True: a message of another length than its receiver expects is an error.
  static constexpr bool checks_lengths = true;
  /// The options for construction; see `open_transport`.
  using options = tcp_options;

  /// Joins the world. Collective over the members of the rendezvous, which must know the address by which the others
  /// reach this host.
  /// @throws error (failure::join) if there is no such interface, the rendezvous fails or changes the text that this
  /// rank publishes, ranks have different secrets,
  /// `encryption` has no secret or no library, or a rank listens at an address that others cannot reach
  template <locates_hosts M>
  explicit tcp(M& meet, options const& settings = {})
      : mesh_(settings, detail::tcp::own_address(meet, settings), meet.rank(), meet.size()) {
    world_secret const secret = detail::secret_of(meet);
    if (settings.encryption) {
      detail::tcp::load_encryption(secret);
    }
    std::string const own_endpoint =
        detail::tcp::endpoint_info::make(mesh_.listening_address(), settings, secret).text();
    std::vector<std::string> const endpoints = meet.exchange(own_endpoint);
    detail::tcp::expect_own_text(endpoints, rank(), own_endpoint);
    mesh_.meet(detail::tcp::directions_of(endpoints, mesh_.listening_address(), secret));
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return mesh_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return mesh_.size(); }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) noexcept { mesh_.calls[s.lane] = {true, s.number, call_info}; }
  /// Closes a flow whose messages are all complete.
  void end(flow) noexcept {}

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    detail::tcp::connection* const link = fault() ? nullptr : mesh_.reach(peer);
    if (link == nullptr) {
      return {};
    }
    send_result const result = link->send(s, bytes, granule, mesh_.calls[s.lane].description);
    if (!result.is_accepted) {
      mesh_.handle_events(peer);
      if (link->writer.is_broken() || link->reader.has_said_bye()) {
        mesh_.lose(peer);
      }
    }
    mesh_.watch(peer);
    return result;
  }
  /// True: the socket has copied the bytes.
  [[nodiscard]] bool is_released(rank_type, flow, ticket) const noexcept { return true; }

  /// The next chunk of a peer's message, of whole granules, or nothing yet.
  /// @throws error (failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& request) {
    detail::tcp::connection* const link = fault() ? nullptr : mesh_.reach(peer);
    if (link == nullptr) {
      return {};
    }
    chunk c;
    try {
      c = link->view(s, request, mesh_.calls[s.lane].description);
    } catch (error const&) {
      mesh_.revoke({failure::mismatch, peer, rank()});
      throw;
    }
    if (!c) {
      mesh_.handle_events(peer);
      if (link->reader.has_said_bye()) {
        mesh_.lose(peer);
      }
    }
    mesh_.watch(peer);
    return c;
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s) {
    detail::tcp::connection* const link = fault() ? nullptr : mesh_.find(peer);
    if (link == nullptr) {  // a sender connects
      return false;
    }
    bool const has_arrived = link->reader.has_message(link->bytes, link->writer, s.lane);
    mesh_.handle_events(peer);
    mesh_.watch(peer);
    return has_arrived;
  }
  /// Releases the chunk of `view`.
  void release(rank_type peer, flow s) {
    if (detail::tcp::connection* const link = mesh_.reach(peer)) {
      link->release(s);
      mesh_.watch(peer);
    }
  }

  /// Asks the peer that is waited for in which call it is; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  void detect_mismatch(rank_type peer, flow s) { mesh_.detect_mismatch(peer, s); }

  /// True if the peer is known to have left or died. Connects to it first, because only a connection shows this.
  [[nodiscard]] bool has_left(rank_type peer) { return mesh_.has_left(peer); }
  /// Answers ranks that have asked what this rank waits for.
  void publish_wait(wait_report const& w) { mesh_.publish_wait(w); }
  /// Asks a peer what it waits for; false while it cannot be reached.
  [[nodiscard]] bool query_wait(rank_type peer) { return mesh_.query_wait(peer); }
  /// The last wait report of a rank, this one included, for a lane.
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const noexcept {
    return mesh_.reported_wait(r, lane);
  }

  /// Makes progress; never waits.
  void poll() { mesh_.poll(); }
  /// Returns a descriptor that becomes readable when there may be work; poll once more, then sleep.
  [[nodiscard]] int arm() { return mesh_.arm(); }
  /// Undoes `arm`.
  void disarm() { mesh_.disarm(); }
  /// The time on the transport's clock.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }

  /// The fault of this world, if any; cheap, because it is called while waiting.
  [[nodiscard]] tutti::fault fault() const noexcept { return mesh_.fault(); }
  /// Probes for lost peers by system calls; to be called every few milliseconds of waiting.
  void probe() { mesh_.probe(); }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault const& cause) { mesh_.revoke(cause); }
  /// Tells the other ranks the reason why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& cause) { mesh_.announce_departure(cause); }
  /// True if all that this rank has sent has arrived at its peers' systems.
  [[nodiscard]] bool is_delivered() const noexcept { return mesh_.is_delivered(); }
  /// Does nothing: peers never access this rank's memory.
  void quiesce() noexcept {}

  /// Refused connections and other odd events, for reports; at most a few dozen.
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return mesh_.incidents(); }
  /// The number of connected peers.
  [[nodiscard]] std::size_t connections() const noexcept { return mesh_.connections(); }
  /// The address by which the other members reach this host.
  [[nodiscard]] std::string local_host() const { return mesh_.listening_address().host(); }
  /// The address at which a peer listens, "10.0.0.2:41234", and the time for which connecting to it has failed.
  [[nodiscard]] std::string describe_address(rank_type peer) const { return mesh_.describe_address(peer); }
  /// The address at which this rank listens: "10.0.0.1:41234".
  [[nodiscard]] std::string address() const { return mesh_.listening_address().text(); }

 private:
  detail::tcp::mesh mesh_;
};

static_assert(transport<tcp> && detects_mismatch<tcp>);

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/tcp.hpp>
#endif
