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

/// A port of UDP, over IPv4 or IPv6. Packets to one address are gathered and go to the system in one call; where it can
/// cut and join them (GSO, GRO), a packet costs a twentieth of what it costs alone.
class udp_port {
 public:
  using address = endpoint;

  /// @throws error(failure::join) if nothing can be received there
  explicit udp_port(net::address const& at, udp_options const& options = {}, seal const& s = {})
      : options_(options),
        socket_(udp_socket(at, options)),
        family_(at.family()),
        offload_(options.offload && sends_bursts(socket_.get())),
        seal_(s),
        inbox_(options.offload && receive_bursts(socket_.get())),
        bursts_(options.destinations) {}

  /// Receives what is sent to a group, too, and sends to groups through the same interface.
  /// @throws error(failure::join) if this host cannot; then nothing has changed
  void join(udp_group const& group) {
    tutti::detail::descriptor heard = group_socket(group, options_);
    if (!send_to_group(socket_.get(), group)) {
      throw error(failure::join, "cannot send to the group " + group.at.text() + " through the interface of " +
                                     group.by.host() + ": " + describe_errno(errno) +
                                     "; name another one (TUTTI_INTERFACE)");
    }
    either_ = either_socket(socket_.get(), heard.get());
    if (inbox_.takes_bursts()) {
      std::ignore = receive_bursts(heard.get());
    }
    group_ = std::move(heard);
  }

  [[nodiscard]] int descriptor() const noexcept { return group_ ? either_.get() : socket_.get(); }
  /// The address that this is bound to, with its port.
  [[nodiscard]] endpoint local() const noexcept { return endpoint(net::local_address(socket_.get())); }
  [[nodiscard]] port_counters const& counted() const noexcept { return counters_; }
  /// Whether the system cuts bursts into packets; it may turn out that it cannot.
  [[nodiscard]] bool offloads() const noexcept { return offload_; }

  /// @pre h.length == payload.size()
  bool send(endpoint const& to, header const& h, std::span<std::byte const> payload) noexcept {
    burst* const b = burst_to(to);
    std::size_t const size = seal_.size(payload.size());
    if (b == nullptr || (!b->has_room(size) && !flush(*b))) {
      ++counters_.no_room;
      return false;
    }
    b->add(h, payload, seal_);
    return true;
  }

  bool flush() noexcept {
    bool all = true;
    for (std::size_t i = 0; i < used_; ++i) {
      all = flush(bursts_[i]) && all;
    }
    return all;
  }

  template <class F>
  std::size_t drain(F&& f) {
    ++counters_.reads;
    std::size_t n = inbox_.read(socket_.get(), f);
    if (group_) {
      ++counters_.reads;
      n += inbox_.read(group_.get(), f);
    }
    counters_.received += n;
    return n;
  }

 private:
  /// The burst to an address, or another one that is made so. None: the system takes no more.
  [[nodiscard]] burst* burst_to(endpoint const& to) noexcept {
    // Results go to the workers in turn.
    for (std::size_t i = 0; i < used_; ++i) {
      latest_ = latest_ + 1 < used_ ? latest_ + 1 : 0;
      if (bursts_[latest_].to() == to) {
        return &bursts_[latest_];
      }
    }
    std::size_t const at = used_ < bursts_.size() ? used_++ : latest_ + 1 < used_ ? latest_ + 1 : 0;
    if (!flush(bursts_[at])) {
      return nullptr;
    }
    latest_ = at;
    bursts_[at].begin(to, family_);
    return &bursts_[at];
  }

  /// Whether it is empty afterwards.
  bool flush(burst& b) noexcept {
    if (b.empty()) {
      return true;
    }
    auto const p = b.send(socket_.get(), offload_);
    counters_.sent += p.sent;
    counters_.failed += p.dropped;
    counters_.writes += p.calls;
    return p.state != burst::sending::full;
  }

  udp_options options_;
  tutti::detail::descriptor socket_;
  tutti::detail::descriptor group_;  ///< none: it has joined no group
  tutti::detail::descriptor either_;
  int family_;
  bool offload_;
  seal seal_;
  udp_inbox inbox_;
  std::vector<burst> bursts_;
  std::size_t used_ = 0;    ///< of the bursts: they are some address's
  std::size_t latest_ = 0;  ///< which one was looked for before
  port_counters counters_;
};

}  // namespace tutti::detail::udp
