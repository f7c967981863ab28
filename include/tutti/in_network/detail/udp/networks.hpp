// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::udp {

/// The network type of a transport: its own, or the implementation of a name of one.
template <class N>
struct network_of {
  using type = N;
};

/// Draws 64 random bits. The lower 32 serve as the number of a job.
[[nodiscard]] inline std::uint64_t draw_nonce() {
  return net::draw_number();
}

/// The number by which the other members reach this host.
template <rendezvous M>
[[nodiscard]] std::string host_of(M const& meet) {
  if constexpr (on_one_host<M>) {
    return net::loopback_host();
  } else {
    return meet.local_host();
  }
}

}  // namespace tutti::detail::udp
