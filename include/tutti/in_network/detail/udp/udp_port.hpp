// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/udp/burst.hpp>
#include <tutti/in_network/detail/udp/endpoint.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>
#include <tutti/in_network/detail/udp/udp_inbox.hpp>
#include <tutti/in_network/detail/udp/udp_socket.hpp>

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::udp {

/// A UDP port, over IPv4 or IPv6. Packets to one address go to the system in one call. If the system can segment and
/// merge them (GSO, GRO), a packet costs a twentieth of a separate call.
class udp_port {
 public:
  using address = endpoint;

  /// @throws error(failure::join) if the address cannot be bound
  explicit udp_port(net::address const& at, udp_options const& options = {})
      : options_(options),
        socket_(udp_socket(at, options)),
        family_(at.family()),
        offload_(options.offload && sends_bursts(socket_.get())),
        inbox_(options.offload && receive_bursts(socket_.get())),
        bursts_(options.destinations) {}

  /// Joins a group: receives its packets, and sends to groups through its interface.
  /// @throws error(failure::join) if this host cannot; then nothing has changed
  void join(udp_group const& group) {
    tutti::detail::descriptor group_receiver = group_socket(group, options_);
    if (!send_to_group(socket_.get(), group)) {
      throw error(failure::join, "cannot send to the group " + group.at.text() + " through the interface of " +
                                     group.interface_address.host() + ": " + describe_errno(errno) +
                                     "; name another one (TUTTI_INTERFACE)");
    }
    epoll_ = either_socket(socket_.get(), group_receiver.get());
    if (inbox_.takes_bursts()) {
      std::ignore = receive_bursts(group_receiver.get());
    }
    group_ = std::move(group_receiver);
  }

  [[nodiscard]] int descriptor() const noexcept { return group_ ? epoll_.get() : socket_.get(); }
  /// The bound address, with its port.
  [[nodiscard]] endpoint own_address() const noexcept { return endpoint(net::local_address(socket_.get())); }
  [[nodiscard]] port_counters const& counts() const noexcept { return counters_; }
  /// True if the system segments bursts into packets; may become false after a failure.
  [[nodiscard]] bool offloads() const noexcept { return offload_; }

  void use(seal const& packet_seal) noexcept { seal_ = packet_seal; }

  /// @pre h.length == payload.size()
  bool send(endpoint const& destination, header const& h, std::span<std::byte const> payload) noexcept {
    burst* const batch = burst_to(destination);
    std::size_t const size = seal_.size(payload.size());
    if (batch == nullptr || (!batch->has_room(size) && !flush(*batch))) {
      ++counters_.no_room;
      return false;
    }
    batch->add(h, payload, seal_);
    return true;
  }

  bool flush() noexcept {
    bool is_flushed = true;
    for (std::size_t i = 0; i < burst_count_; ++i) {
      is_flushed = flush(bursts_[i]) && is_flushed;
    }
    return is_flushed;
  }

  template <class F>
  std::size_t drain(F&& f) {
    ++counters_.reads;
    std::size_t n = inbox_.read(socket_.get(), f);
    if (group_) {
      ++counters_.reads;
      n += inbox_.read(group_.get(), f);
    }
    counters_.received_packets += n;
    return n;
  }

 private:
  /// The burst to an address; takes over another burst if there is none. Null if the socket buffer is full.
  [[nodiscard]] burst* burst_to(endpoint const& destination) noexcept {
    // Results go to the workers in turn, so the search starts behind the last match.
    for (std::size_t i = 0; i < burst_count_; ++i) {
      last_match_ = last_match_ + 1 < burst_count_ ? last_match_ + 1 : 0;
      if (bursts_[last_match_].destination() == destination) {
        return &bursts_[last_match_];
      }
    }
    std::size_t const at = burst_count_ < bursts_.size()    ? burst_count_++
                           : last_match_ + 1 < burst_count_ ? last_match_ + 1
                                                            : 0;
    if (!flush(bursts_[at])) {
      return nullptr;
    }
    last_match_ = at;
    bursts_[at].begin(destination, family_);
    return &bursts_[at];
  }

  /// True if the burst is empty afterwards.
  bool flush(burst& batch) noexcept {
    if (batch.empty()) {
      return true;
    }
    auto const p = batch.send(socket_.get(), offload_);
    counters_.sent_packets += p.sent_count;
    counters_.failures += p.dropped_count;
    counters_.writes += p.call_count;
    return p.state != burst::send_state::would_block;
  }

  udp_options options_;
  tutti::detail::descriptor socket_;
  tutti::detail::descriptor group_;  ///< empty: no group joined
  tutti::detail::descriptor epoll_;
  int family_;
  bool offload_;
  seal seal_;
  udp_inbox inbox_;
  std::vector<burst> bursts_;
  std::size_t burst_count_ = 0;  ///< number of bursts with a destination
  std::size_t last_match_ = 0;   ///< index of the last match
  port_counters counters_;
};

}  // namespace tutti::detail::udp
