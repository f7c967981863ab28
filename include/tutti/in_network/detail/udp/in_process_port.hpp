// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/in_process_medium.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// A port of an in-process medium, which must outlive it.
class in_process_port {
 public:
  using address = in_process_medium::address;

  /// @pre 1 <= at <= the ports of the medium, and no other port has this address
  in_process_port(in_process_medium& medium, address at) : medium_(medium), address_(at), seal_(medium.seal()) {
    outgoing_.storage.resize(burst);
    incoming_.storage.resize(medium.inbox());
  }
  in_process_port(in_process_port const&) = delete;
  in_process_port& operator=(in_process_port const&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return medium_.descriptor(address_); }
  [[nodiscard]] address own_address() const noexcept { return address_; }
  [[nodiscard]] port_counters const& counts() const noexcept { return counters_; }

  void use(seal const& packet_seal) noexcept { seal_ = packet_seal; }

  /// @pre h.length == payload.size()
  bool send(address destination, header const& h, std::span<std::byte const> payload) {
    if (outgoing_.count == burst) {
      flush();
    }
    auto* const p = outgoing_.next();
    p->at = destination;
    p->size = static_cast<std::uint16_t>(seal_.write(h, payload, p->bytes.data()));
    return true;
  }

  bool flush() {
    if (outgoing_.count != 0) {
      counters_.sent_packets += outgoing_.count;
      ++counters_.writes;
      medium_.carry(address_, outgoing_);
    }
    return true;
  }

  template <class F>
  std::size_t drain(F&& f) {
    medium_.collect(address_, incoming_);
    std::size_t const n = incoming_.count;
    for (std::size_t i = 0; i < n; ++i) {
      f(incoming_.storage[i].at, incoming_.storage[i].content(), false);
    }
    incoming_.count = 0;
    ++counters_.reads;
    counters_.received_packets += n;
    return n;
  }

 private:
  static constexpr std::size_t burst = 64;

  in_process_medium& medium_;
  address address_;
  seal seal_;
  in_process_medium::datagrams outgoing_;
  in_process_medium::datagrams incoming_;
  port_counters counters_;
};

}  // namespace tutti::detail::udp
