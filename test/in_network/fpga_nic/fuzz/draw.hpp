// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

/// Random packets of a few jobs under way, some of them with changed fields, bits and lengths.
class draw {
 public:
  static constexpr std::uint32_t jobs = 3;
  static constexpr std::uint16_t slots = 2;
  static constexpr unsigned workers = 3;
  static constexpr std::uint32_t blocks = 3;  ///< blocks of weights

  draw(std::uint64_t seed, tutti::detail::udp::seal const& seal) : random_(seed), seal_(seal) {}

  /// The next packet, valid until the following call.
  [[nodiscard]] std::span<std::byte const> packet();

  /// A random number below n.
  [[nodiscard]] std::size_t random_below(std::size_t n) { return random_() % n; }
  [[nodiscard]] bool one_in(std::size_t n) { return random_below(n) == 0; }

 private:
  [[nodiscard]] tutti::detail::udp::header header();
  /// The version that blocks have by now, if they follow all updates.
  [[nodiscard]] std::uint32_t version() const { return static_cast<std::uint32_t>(packet_count_ / 400); }
  void mutate();

  std::mt19937_64 random_;
  tutti::detail::udp::seal seal_;
  std::uint64_t packet_count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> payload_;
};
