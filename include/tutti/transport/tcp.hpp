// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/address.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

/// Processes anywhere, over TCP. Connections are made when they are first needed, so there are as many
/// as the schedules have edges.
///
/// Messages are sent at once, without a copy in user space at the sender, in pieces of `options::piece` bytes.
/// What is waited for is read from the socket straight to its place, or through a buffer that fits into the
/// cache if it is combined; what comes before its receiver is kept, up to `options::window` bytes per lane, and
/// the sender waits then. A rank that has asked for a message goes on asking until it has the whole, for other
/// lanes may wait behind it; of a long one that is asked for, all may come.
///
/// What connects to a rank's port and is not a member of its world is refused; `incidents` tells.
///
/// Cost: a connection, and so a descriptor and the system's buffers, for each peer that a schedule talks to; what came
/// too early, up to options::window bytes for each peer and lane.
/// Thread safety: one thread at a time; instances are independent.
class tcp {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "tcp";
  /// True if `spawn` starts ranks as threads of this process, false if as processes.
  static constexpr bool in_process = false;
  /// The options with which the transport may be opened; see `open_transport`.
  using options = tcp_options;

  /// Collective over the members of the rendezvous, which has to know by which number the others reach this host.
  /// @throws error (failure::join) if there is no such interface, the rendezvous fails, or a rank listens where others
  ///         cannot reach it
  template <locates_hosts M>
  explicit tcp(M& meet, options const& o = {}) : mesh_(o, detail::tcp::own_address(meet, o), meet.rank(), meet.size()) {
    std::vector<std::string> const endpoints =
        meet.exchange(detail::tcp::endpoint_info::local(mesh_.listening_address(), o).text());
    mesh_.meet(detail::tcp::directions_of(endpoints, mesh_.listening_address()));
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return mesh_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return mesh_.size(); }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& what) noexcept { mesh_.calls[s.lane] = {true, s.number, what}; }
  /// Closes a flow whose messages are all done with.
  void end(flow) noexcept {}

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    detail::tcp::connection* const link = fault() ? nullptr : mesh_.reach(peer);
    if (link == nullptr) {
      return {};
    }
    sent const result = link->send(s, bytes, granule, mesh_.calls[s.lane].description);
    if (!result.accepted) {
      mesh_.handle_events(peer);
      if (link->writer.is_broken() || link->reader.has_said_bye()) {
        mesh_.lose(peer);
      }
    }
    mesh_.watch(peer);
    return result;
  }
  /// True if the buffer of what was sent under this ticket is free.
  [[nodiscard]] bool released(rank_type, flow, ticket) const noexcept { return true; }

  /// @throws error (failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(rank_type peer, flow s, wanted const& w) {
    detail::tcp::connection* const link = fault() ? nullptr : mesh_.reach(peer);
    if (link == nullptr) {
      return {};
    }
    chunk c;
    try {
      c = link->view(s, w, mesh_.calls[s.lane].description);
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
  /// Gives back what `view` has shown.
  void release(rank_type peer, flow s) {
    if (detail::tcp::connection* const link = mesh_.reach(peer)) {
      link->release(s);
      mesh_.watch(peer);
    }
  }

  /// Asks a peer that is waited for in which call it is; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  void inquire(rank_type peer, flow s) { mesh_.inquire(peer, s); }

  /// Connects to the peer, if it has not been: only a connection tells.
  [[nodiscard]] bool has_left(rank_type peer) { return mesh_.has_left(peer); }
  /// Tells ranks that have asked since what this rank waits for.
  void say(wait_report const& w) { mesh_.say(w); }
  /// Asks a peer what it waits for; false as long as it cannot be reached.
  [[nodiscard]] bool ask(rank_type peer) { return mesh_.ask(peer); }
  /// The last report of a rank, this one included, of what it waits for on a lane.
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept { return mesh_.said(r, lane); }

  /// Advances what is under way; never waits.
  void poll() { mesh_.poll(); }
  /// Returns a descriptor that becomes readable when there may be something to do; poll once more, then sleep.
  [[nodiscard]] int arm() { return mesh_.arm(); }
  /// Ends what `arm` began.
  void disarm() { mesh_.disarm(); }
  /// The time by the clock of the transport.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }

  /// The fault of this world, if there is one; cheap, as it is asked for while waiting.
  [[nodiscard]] tutti::fault fault() const noexcept { return mesh_.fault(); }
  /// Finds peers that are gone, by system calls: for every few milliseconds of waiting.
  void look() { mesh_.look(); }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault const& why) { mesh_.revoke(why); }
  /// Tells the other ranks why this one leaves: a fault in another communicator of its world.
  void excuse(tutti::fault const& why) { mesh_.excuse(why); }
  /// Peers never read this rank's memory.
  void quiesce() noexcept {}

  /// The connections that were refused, and other odd events: for reports, at most a few dozen.
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return mesh_.incidents(); }
  /// How many peers this rank is connected to.
  [[nodiscard]] std::size_t connections() const noexcept { return mesh_.connections(); }
  /// By which number the other members reach this host.
  [[nodiscard]] std::string local_host() const { return mesh_.listening_address().host(); }
  /// The address at which a peer listens, "10.0.0.2:41234", and for how long this rank has tried to connect without
  /// success.
  [[nodiscard]] std::string place_of(rank_type peer) const { return mesh_.place_of(peer); }
  /// Where this rank listens: "10.0.0.1:41234".
  [[nodiscard]] std::string address() const { return mesh_.listening_address().text(); }

 private:
  detail::tcp::mesh mesh_;
};

static_assert(transport<tcp> && inquires<tcp>);

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/tcp.hpp>
#endif
