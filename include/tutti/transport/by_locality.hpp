// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/locality/either_descriptor.hpp>
#include <tutti/detail/locality/near_rendezvous.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The settings of a rank in a `by_locality` world.
template <class IntraHost, class InterHost>
struct locality_options {
  typename options_of<IntraHost>::type within_host{};    ///< options of the transport within hosts
  typename options_of<InterHost>::type between_hosts{};  ///< options of the transport between hosts
  /// The number of consecutive ranks that count as one host, to test programs for several hosts on one machine. 0: the
  /// real hosts.
  rank_type ranks_per_host = 0;
};

/// Combines two transports: ranks of one host communicate through `IntraHost`, ranks of different hosts through
/// `InterHost`.
///
///     auto world = tutti::join<tutti::by_locality<tutti::shared_memory, tutti::tcp>>();
///
/// With `loopback` as Near, the ranks are threads of several processes, and each process counts as a host. Hosts are
/// identified by the system (see detail/core/node_identity.hpp), or by the variable TUTTI_NODE, with one value per
/// host.
///
/// A fault of one transport is a fault of both; every rank learns of it through either.
///
/// Cost: a table look-up per call; while waiting, both transports are polled.
/// Thread safety: one thread at a time; instances are independent.
template <names_world_ranks IntraHost, transport InterHost>
class by_locality {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "by_locality";
  /// True if `spawn` starts ranks as threads of this process, false if as processes.
  static constexpr bool in_process = IntraHost::in_process;
  /// The options for construction; see `open_transport`.
  using options = locality_options<IntraHost, InterHost>;

  /// Joins the world. Collective over the members of the rendezvous.
  /// @throws error(failure::join) if a transport cannot be opened on this host
  template <rendezvous M>
  explicit by_locality(M& meet, options const& settings = {})
      : node_(node_of(meet, settings)),
        hosts_(meet.exchange(node_)),
        ranks_within_host_(meet.size(), no_rank),
        inter_host_(open_transport<InterHost>(meet, settings.between_hosts)),
        intra_host_(open_intra_host(meet, settings)),
        bells_() {
    for (rank_type const r : hosts_.members(hosts_.host(meet.rank()))) {
      ranks_within_host_[r] = hosts_.local(r);
    }
    if constexpr (provides_memory<IntraHost> && registers_memory<InterHost>) {
      inter_host_.adopt(intra_host_->memory());
    }
  }
  by_locality(by_locality const&) = delete;
  by_locality& operator=(by_locality const&) = delete;

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return inter_host_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return inter_host_.size(); }
  /// The ranks of each host.
  [[nodiscard]] host_map const& hosts() const noexcept { return hosts_; }
  /// The name that identifies this rank's host.
  [[nodiscard]] std::string const& node() const noexcept { return node_; }
  /// The transport within hosts.
  [[nodiscard]] IntraHost& within_host() noexcept { return *intra_host_; }
  /// The rank in that transport of a rank of this host; no_rank for others.
  [[nodiscard]] rank_type rank_within_host(rank_type r) const noexcept { return ranks_within_host_[r]; }
  /// The transport between hosts.
  [[nodiscard]] InterHost& between_hosts() noexcept { return inter_host_; }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) {
    intra_host_->begin(s, call_info);
    inter_host_.begin(s, call_info);
  }
  /// Closes a flow whose messages are all complete.
  void end(flow s) {
    intra_host_->end(s);
    inter_host_.end(s);
  }
  /// Announces a message; `repeats_bytes` is true if it has the bytes of the previous one on that flow.
  void next_message(flow s, bool repeats_bytes)
    requires(reuses_copies<IntraHost> || reuses_copies<InterHost>)
  {
    if constexpr (reuses_copies<IntraHost>) {
      intra_host_->next_message(s, repeats_bytes);
    }
    if constexpr (reuses_copies<InterHost>) {
      inter_host_.next_message(s, repeats_bytes);
    }
  }

  /// True if the peer would read these bytes in place.
  [[nodiscard]] bool shares(rank_type peer, flow s, std::span<std::byte const> bytes) const
    requires(shares_memory<IntraHost> || shares_memory<InterHost>)
  {
    auto const shares_there = [&](auto const& t, rank_type r) {
      if constexpr (shares_memory<std::remove_cvref_t<decltype(t)>>) {
        return t.shares(r, s, bytes);
      } else {
        return false;
      }
    };
    rank_type const host_rank = ranks_within_host_[peer];
    return host_rank != no_rank ? shares_there(*intra_host_, host_rank) : shares_there(inter_host_, peer);
  }
  /// The memory of tutti::allocator, which ranks of this host read without a copy, and which is registered once with a
  /// device of the transport between hosts.
  [[nodiscard]] intrusive_pointer<memory_source> memory() const noexcept
    requires provides_memory<IntraHost>
  {
    return intra_host_->memory();
  }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return with_transport_of(peer, [&](auto& t, rank_type r) { return t.send(r, s, bytes, granule); });
  }
  /// Offers a message like `send`, with the place where the receiver may write its result.
  [[nodiscard]] send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule,
                                 std::byte* back)
    requires(lends<IntraHost> || lends<InterHost>)
  {
    return with_transport_of(peer, [&](auto& t, rank_type r) {
      if constexpr (lends<std::remove_cvref_t<decltype(t)>>) {
        return t.lend(r, s, bytes, granule, back);
      } else {
        return t.send(r, s, bytes, granule);
      }
    });
  }
  /// Offers bytes that the peer has lent, like `send`; writes them to the peer's place if possible.
  [[nodiscard]] send_result give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule)
    requires(lends<IntraHost> || lends<InterHost>)
  {
    return with_transport_of(peer, [&](auto& t, rank_type r) {
      if constexpr (lends<std::remove_cvref_t<decltype(t)>>) {
        return t.give_back(r, s, bytes, granule);
      } else {
        return t.send(r, s, bytes, granule);
      }
    });
  }
  /// The place where the result of lent bytes in `view` may be made at once; null if there is none.
  [[nodiscard]] std::byte* result_place(rank_type peer, flow s)
    requires(lends<IntraHost> || lends<InterHost>)
  {
    return with_transport_of(peer, [&](auto& t, rank_type r) -> std::byte* {
      if constexpr (lends<std::remove_cvref_t<decltype(t)>>) {
        return t.result_place(r, s);
      } else {
        return nullptr;
      }
    });
  }
  /// True if the buffer of the send with this ticket is free.
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket release_ticket) {
    return with_transport_of(peer, [&](auto& t, rank_type r) { return t.is_released(r, s, release_ticket); });
  }
  /// The next chunk of a peer's message, of whole granules, or nothing yet; throws error (mismatch) if calls differ.
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& request) {
    return sharing_faults(
        [&] { return with_transport_of(peer, [&](auto& t, rank_type r) { return t.view(r, s, request); }); });
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s)
    requires(notices_messages<IntraHost> && notices_messages<InterHost>)
  {
    return with_transport_of(peer, [&](auto& t, rank_type r) { return t.has_message(r, s); });
  }
  /// Releases the chunk of `view`.
  void release(rank_type peer, flow s) {
    with_transport_of(peer, [&](auto& t, rank_type r) { t.release(r, s); });
  }
  /// Throws as `view` does if that peer is at the same flow with another call, even if it sends nothing.
  void detect_mismatch(rank_type peer, flow s) {
    sharing_faults([&] {
      with_transport_of(peer, [&](auto& t, rank_type r) {
        if constexpr (detects_mismatch<std::remove_cvref_t<decltype(t)>>) {
          t.detect_mismatch(r, s);
        }
      });
    });
  }

  /// Answers ranks that have asked what this rank waits for, through both transports. Reports name ranks by their
  /// numbers in the world.
  void publish_wait(wait_report const& w)
    requires(reports_waits<IntraHost> && reports_waits<InterHost>)
  {
    intra_host_->publish_wait(w);
    inter_host_.publish_wait(w);
  }
  /// Asks a peer what it waits for; false while it cannot be reached.
  [[nodiscard]] bool query_wait(rank_type peer)
    requires(reports_waits<IntraHost> && reports_waits<InterHost>)
  {
    return with_transport_of(peer, [](auto& t, rank_type r) { return t.query_wait(r); });
  }
  /// The last wait report of a rank, this one included, for a lane.
  [[nodiscard]] wait_report reported_wait(rank_type peer, std::uint32_t lane) const
    requires(reports_waits<IntraHost> && reports_waits<InterHost>)
  {
    rank_type const host_rank = ranks_within_host_[peer];
    return host_rank != no_rank ? intra_host_->reported_wait(host_rank, lane) : inter_host_.reported_wait(peer, lane);
  }

  /// True if a peer, from which no message is expected, is known to have left or died.
  [[nodiscard]] bool has_left(rank_type peer)
    requires(notices_departure<IntraHost> && notices_departure<InterHost>)
  {
    return with_transport_of(peer, [](auto& t, rank_type r) { return t.has_left(r); });
  }

  /// Makes progress; never waits.
  void poll() {
    intra_host_->poll();
    inter_host_.poll();
    share_fault();
  }
  /// Returns a descriptor that becomes readable when there may be work; poll once more, then sleep.
  [[nodiscard]] int arm() { return bells_.combine(intra_host_->arm(), inter_host_.arm()); }
  /// Undoes `arm`.
  void disarm() {
    intra_host_->disarm();
    inter_host_.disarm();
  }
  /// The time on the transport's clock.
  [[nodiscard]] time_point now() const { return inter_host_.now(); }

  /// The fault of this world, if any; cheap, because it is called while waiting.
  [[nodiscard]] tutti::fault fault() {
    share_fault();
    return fault_;
  }
  /// Probes for lost peers by system calls; to be called every few milliseconds of waiting.
  void probe() {
    intra_host_->probe();
    inter_host_.probe();
    share_fault();
  }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault const& cause) {
    share_fault();
    if (!fault_ && cause.culprit < size()) {  // the culprit's own transport may know a better reason
      with_transport_of(cause.culprit, [&](auto& t, rank_type) { t.revoke(cause); });
      share_fault();
    }
    if (!fault_ && cause) {
      adopt(cause);
    }
  }
  /// Makes a fault known to the ranks of this host, and through any that waits to all. For any thread and for signal
  /// handlers.
  void revoke_in_memory(tutti::fault const& cause) noexcept
    requires revokes_in_memory<IntraHost>
  {
    intra_host_->revoke_in_memory(cause);
  }
  /// The fault known to the ranks of this host, for any thread and for signal handlers.
  [[nodiscard]] tutti::fault fault_in_memory() const noexcept
    requires revokes_in_memory<IntraHost>
  {
    return intra_host_->fault_in_memory();
  }
  /// Tells the other ranks the reason why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& cause)
    requires(announces_departure<IntraHost> || announces_departure<InterHost>)
  {
    if constexpr (announces_departure<IntraHost>) {
      intra_host_->announce_departure(cause);
    }
    if constexpr (announces_departure<InterHost>) {
      inter_host_.announce_departure(cause);
    }
  }
  /// True if all that this rank has sent between hosts has arrived at its peers' systems.
  [[nodiscard]] bool is_delivered() const noexcept
    requires requires(InterHost const& transport) { transport.is_delivered(); }
  {
    return inter_host_.is_delivered();
  }
  /// Returns once nothing accesses this rank's memory any more; called after a fault.
  void quiesce() {
    share_fault();
    intra_host_->quiesce();
    inter_host_.quiesce();
  }

  /// Refused connections and other odd events of the transport between hosts.
  [[nodiscard]] decltype(auto) incidents() const
    requires requires(InterHost const& transport) { transport.incidents(); }
  {
    return inter_host_.incidents();
  }
  /// The address of a peer, for errors; empty if there is none.
  [[nodiscard]] std::string describe_address(rank_type peer) const
    requires requires(InterHost const& transport) { transport.describe_address(peer); }
  {
    return ranks_within_host_[peer] == no_rank ? inter_host_.describe_address(peer) : std::string();
  }
  /// The address by which the other members reach this host.
  [[nodiscard]] std::string local_host() const
    requires requires(InterHost const& transport) { transport.local_host(); }
  {
    return inter_host_.local_host();
  }

 private:
  template <class M>
  static std::string node_of(M& meet, options const& settings) {
    std::string text;
    if constexpr (requires { meet.node(); }) {
      text = meet.node();
    }
    if (text.empty() && settings.ranks_per_host != 0) {
      text = "host " + std::to_string(meet.rank() / settings.ranks_per_host);
    }
    if (text.empty()) {
      text = detail::node_identity();
    }
    if constexpr (IntraHost::in_process) {
      text += detail::process_identity();
    }
    return text;
  }

  template <class M>
  detail::owner<IntraHost> open_intra_host(M& meet, options const& settings) {
    detail::near_rendezvous<M> host_meeting(meet, hosts_);
    return detail::owner<IntraHost>(new IntraHost(open_transport<IntraHost>(host_meeting, settings.within_host)));
  }

  template <class F>
  decltype(auto) with_transport_of(rank_type peer, F f) {
    rank_type const host_rank = ranks_within_host_[peer];
    return host_rank != no_rank ? f(*intra_host_, host_rank) : f(inter_host_, peer);
  }

  /// Calls f, and shares the fault if it throws: a transport that throws has made the fault known on its own side
  /// only.
  template <class F>
  decltype(auto) sharing_faults(F f) {
    try {
      return f();
    } catch (...) {
      share_fault();
      throw;
    }
  }

  /// Keeps the first fault of either transport, and passes it to both.
  void share_fault() {
    if (!fault_) [[likely]] {
      if (tutti::fault const intra_host_fault = intra_host_->fault()) [[unlikely]] {
        adopt(intra_host_fault);
      } else if (tutti::fault const inter_host_fault = inter_host_.fault()) [[unlikely]] {
        adopt(inter_host_fault);
      }
    }
  }
  void adopt(tutti::fault const& cause) {
    fault_ = cause;
    intra_host_->revoke(cause);
    inter_host_.revoke(cause);
  }

  std::string node_;
  host_map hosts_;
  std::vector<rank_type> ranks_within_host_;  ///< ranks in `intra_host_`; no_rank for ranks of other hosts
  InterHost inter_host_;
  detail::owner<IntraHost> intra_host_;  ///< destroyed first, so that near ranks learn of the departure at once
  detail::either_descriptor bells_;
  tutti::fault fault_{};
};

}  // namespace tutti
