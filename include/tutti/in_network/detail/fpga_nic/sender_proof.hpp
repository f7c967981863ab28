// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

// Facts that a device without a key can establish about a sender: its address, and that it receives there.

/// Proof that a sender at this address receives packets about this job: a number, never 0, that only an answer to
/// this address reveals. The device stores nothing for it.
template <class Address>
[[nodiscard]] std::uint32_t proof_of(udp::secret_key const& k, Address const& source, std::uint32_t job) noexcept {
  std::array<std::byte, 32> text{};
  udp::write_integer(text.data(), job);
  if constexpr (std::unsigned_integral<Address>) {
    udp::write_integer(text.data() + sizeof job, source);
  } else {
    std::ranges::copy(source.bytes(), text.begin() + sizeof job);
  }
  return static_cast<std::uint32_t>(udp::siphash(k, text)) | 1U;
}

/// True if two addresses are on one host, as far as the addresses tell.
template <class Address>
[[nodiscard]] bool are_on_one_host(Address const& a, Address const& b) noexcept {
  if constexpr (requires { a.is_on_host_of(b); }) {
    return a.is_on_host_of(b);
  } else {
    return a == b;
  }
}

}  // namespace tutti::detail::fpga_nic
