// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/burst.hpp>
#include <tutti/detail/fpga_nic/endpoint.hpp>
#include <tutti/detail/fpga_nic/port.hpp>
#include <tutti/detail/fpga_nic/seal.hpp>
#include <tutti/detail/fpga_nic/udp_inbox.hpp>
#include <tutti/detail/fpga_nic/udp_socket.hpp>
#include <tutti/detail/net/socket.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::detail::fpga_nic {

/// A port of UDP, over IPv4 or IPv6. Packets to one address are gathered and go to the system in one call; where it can
/// cut and join them (GSO, GRO), a packet costs a twentieth of what it costs alone.
class udp_port {
 public:
  using address = endpoint;

  /// @throws error(failure::join) if nothing can be received there
  explicit udp_port(net::address const& at, udp_options const& options = {}, seal const& s = {})
      : socket_(udp_socket(at, options)),
        family_(at.family()),
        offload_(options.offload && sends_bursts(socket_.get())),
        seal_(s),
        inbox_(options.offload && receive_bursts(socket_.get())),
        bursts_(options.destinations) {}

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
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
    if (b->empty()) {
      b->begin(to, family_);
    }
    b->add(h, payload, seal_);
    return true;
  }

  bool flush() noexcept {
    bool all = true;
    for (burst& b : bursts_) {
      all = flush(b) && all;
    }
    return all;
  }

  template <class F>
  std::size_t drain(F&& f) {
    ++counters_.reads;
    std::size_t const n = inbox_.read(socket_.get(), std::forward<F>(f));
    counters_.received += n;
    return n;
  }

 private:
  /// The burst to an address, or one that is empty, or made so. None: the system takes no more.
  [[nodiscard]] burst* burst_to(endpoint const& to) noexcept {
    // Results go to the workers in turn.
    std::size_t empty = bursts_.size();
    for (std::size_t i = 0; i < bursts_.size(); ++i) {
      std::size_t const at = latest_ + 1 + i < bursts_.size() ? latest_ + 1 + i : latest_ + 1 + i - bursts_.size();
      if (bursts_[at].empty()) {
        empty = empty == bursts_.size() ? at : empty;
      } else if (bursts_[at].to() == to) {
        latest_ = at;
        return &bursts_[at];
      }
    }
    if (empty == bursts_.size()) {
      empty = latest_ + 1 < bursts_.size() ? latest_ + 1 : 0;  // the one that was used the longest ago, if in turn
      if (!flush(bursts_[empty])) {
        return nullptr;
      }
    }
    latest_ = empty;
    return &bursts_[empty];
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

  tutti::detail::descriptor socket_;
  int family_;
  bool offload_;
  seal seal_;
  udp_inbox inbox_;
  std::vector<burst> bursts_;
  std::size_t latest_ = 0;
  port_counters counters_;
};

}  // namespace tutti::detail::fpga_nic
