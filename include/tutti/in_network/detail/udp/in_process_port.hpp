// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/in_process_medium.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// A port of an in-process medium, which it does not outlive.
class in_process_port {
 public:
  using address = in_process_medium::address;

  /// @pre 1 <= at <= the ports of the medium, and no other port is there
  in_process_port(in_process_medium& of, address at) : network_(of), at_(at) {
    outgoing_.room.resize(burst);
    come_.room.resize(of.inbox());
  }
  in_process_port(in_process_port const&) = delete;
  in_process_port& operator=(in_process_port const&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return network_.descriptor(at_); }
  [[nodiscard]] address local() const noexcept { return at_; }
  [[nodiscard]] port_counters const& counted() const noexcept { return counters_; }

  /// @pre h.length == payload.size()
  bool send(address to, header const& h, std::span<std::byte const> payload) {
    if (outgoing_.count == burst) {
      flush();
    }
    auto* const p = outgoing_.next();
    p->at = to;
    p->size = static_cast<std::uint16_t>(network_.seal().write(h, payload, p->bytes.data()));
    return true;
  }

  bool flush() {
    if (outgoing_.count != 0) {
      counters_.sent += outgoing_.count;
      ++counters_.writes;
      network_.carry(at_, outgoing_);
    }
    return true;
  }

  template <class F>
  std::size_t drain(F&& f) {
    network_.collect(at_, come_);
    std::size_t const n = come_.count;
    for (std::size_t i = 0; i < n; ++i) {
      f(come_.room[i].at, come_.room[i].content(), false);
    }
    come_.count = 0;
    ++counters_.reads;
    counters_.received += n;
    return n;
  }

 private:
  static constexpr std::size_t burst = 64;

  in_process_medium& network_;
  address at_;
  in_process_medium::datagrams outgoing_;
  in_process_medium::datagrams come_;
  port_counters counters_;
};

}  // namespace tutti::detail::udp
