// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/transport/over_host.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/detail/udp/networks.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// Base of transports with an in-network aggregator: forwards messages of ranks to Host, and
/// those of the aggregator to the derived transport `Transport`. A lane of `Transport`'s member, which has a port in
/// the network, begins and ends with a lane of Host.
///
/// `Transport` provides `is_member()`, false if there is no aggregator and Host does everything, `lanes()` of its
/// member, `check_ranks`, and `send_to_aggregator`, `is_sent_to_aggregator`, `view_result` and `release_result` as
/// counterparts of `send`, `is_released`, `view` and `release`.
///
/// @tparam Member the type of a member with such a port
template <class Transport, tutti::transport Host, class Network, template <class> class Member>
class with_aggregator : public over_host<Host> {
 public:
  using over_host<Host>::now;
  using over_host<Host>::size;

  /// Opens a flow for a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) {
    host_.begin(s, call_info);
    if (s.lane < collective_lanes && self().is_member()) {
      self().lanes().begin(s, call_info.fingerprint());
    }
  }
  /// Closes a flow; all its messages have been released.
  void end(flow s) {
    host_.end(s);
    if (s.lane < collective_lanes && self().is_member()) {
      self().lanes().end(s);
    }
  }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    if (peer < size()) {
      return host_.send(peer, s, bytes, granule);
    }
    return host_.fault() ? send_result{} : self().send_to_aggregator(s, bytes, granule);
  }
  /// True if the buffer sent under this ticket is free.
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket release_ticket) {
    return peer < size() ? host_.is_released(peer, s, release_ticket) : self().is_sent_to_aggregator(s);
  }
  /// Returns the next chunk of a message, or an empty one if nothing has arrived.
  /// @throws error(failure::mismatch) if another rank has made another call
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& request) {
    if (peer < size()) {
      return host_.view(peer, s, request);
    }
    return host_.fault() ? chunk{} : self().view_result(s, request);
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s)
    requires notices_messages<Host>
  {
    return host_.has_message(peer, s);
  }
  /// Frees the chunk that `view` returned.
  void release(rank_type peer, flow s) {
    if (peer < size()) {
      host_.release(peer, s);
    } else {
      self().release_result(s);
    }
  }

  /// Makes progress; never waits.
  void poll() {
    host_.poll();
    if (self().is_member()) {
      member_->advance(now());
    }
  }
  /// Returns a descriptor that becomes readable when there may be something to do; poll once more, then sleep.
  [[nodiscard]] int arm() {
    return self().is_member() ? this->arm_with(network_.own_port().descriptor()) : host_.arm();
  }
  /// Looks for peers that have died or left; costs system calls.
  void probe() {
    host_.probe();
    if (self().is_member()) {
      member_->run_timers(now());
      for (std::uint32_t lane = 0; lane != collective_lanes && !host_.fault(); ++lane) {
        self().check_ranks(lane);
      }
    }
  }
  /// Returns when nobody accesses this rank's memory any more; called after a fault.
  void quiesce() {
    if (self().is_member()) {
      self().lanes().drop();
    }
    host_.quiesce();
  }

 protected:
  using network_type = typename network_of<Network>::type;
  using member_type = Member<typename network_type::port>;
  using over_host<Host>::host_;

  template <class M, class Options>
  with_aggregator(M& meet, Options const& settings)
      : over_host<Host>(meet, settings.host), network_(meet, settings.network) {}
  ~with_aggregator() = default;

  /// The chunk of a message without bytes.
  [[nodiscard]] static chunk empty_chunk() noexcept {
    static constexpr std::byte empty_place{};
    return {&empty_place, 0};
  }

  network_type network_;
  std::optional<member_type> member_;  ///< empty: there is no aggregator

 private:
  [[nodiscard]] Transport& self() noexcept { return static_cast<Transport&>(*this); }
};

}  // namespace tutti::detail::udp
