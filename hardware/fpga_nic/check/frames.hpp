// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/frame.hpp"
#include "bench.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

/// Frames to the device, and damage to them.
namespace frames {

/// The addresses of the station with this number.
[[nodiscard]] inline frame::place station(std::uint32_t number) {
  auto const low = static_cast<std::uint8_t>(number);
  auto const high = static_cast<std::uint8_t>(number >> 8);
  return {{0x02, 0, 0, 0, high, low}, 0x0a4d1000 + number, static_cast<std::uint16_t>(7000 + number % 3)};
}

[[nodiscard]] inline std::vector<std::byte> make(frame::place const& source, std::span<std::byte const> packet,
                                                 bool has_ecn_mark = false) {
  std::vector<std::byte> bytes(frame::max_size);
  bytes.resize(frame::write({source, own_place, has_ecn_mark, packet}, bytes.data()));
  return bytes;
}

/// Damages a frame so that it is refused before its packet is read, or is equivalent. Returns true if the receiving
/// station marks it bad.
[[nodiscard]] inline bool spoil(std::vector<std::byte>& f, std::mt19937_64& random) {
  auto const random_below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  auto const correct_header = [&] {
    frame::write_integer<std::uint16_t>(f.data() + 24, 0);
    frame::checksum c;
    c.add({f.data() + 14, 20});
    frame::write_integer(f.data() + 24, c.value());
  };
  switch (random_below(14)) {
    case 0:
      return true;
    case 1:  // a bit that checksums cover; they detect any single one
      f[14 + random_below(f.size() - 14)] ^= static_cast<std::byte>(1U << random_below(8));
      return false;
    case 2:  // another station
      f[random_below(6)] ^= static_cast<std::byte>(1U << random_below(8));
      return false;
    case 3:
      f.resize(1 + random_below(f.size() - 1));
      return false;
    case 4:  // longer than the IPv4 length
      f.resize(f.size() + 1 + random_below(200), std::byte{0xa5});
      return false;
    case 5:
      frame::write_integer(f.data() + 12, frame::type_arp);
      return false;
    case 6:  // IPv4 options
      f[14] = std::byte{0x46};
      correct_header();
      return false;
    case 7:  // a fragment
      frame::write_integer(f.data() + 20,
                           static_cast<std::uint16_t>(random_below(2) == 0 ? 0x2000 : 1 + random_below(0x1fff)));
      correct_header();
      return false;
    case 8:  // not UDP
      f[23] = std::byte{6};
      correct_header();
      return false;
    case 9:  // another host
      f[30 + random_below(4)] ^= static_cast<std::byte>(1U << random_below(8));
      correct_header();
      return false;
    case 10:  // another port
      f[36 + random_below(2)] ^= static_cast<std::byte>(1U << random_below(8));
      return false;
    case 11:  // UDP without a checksum
      frame::write_integer<std::uint16_t>(f.data() + 40, 0);
      return false;
    case 12:  // inconsistent lengths
      frame::write_integer(f.data() + 16, static_cast<std::uint16_t>(random_below(2000)));
      correct_header();
      return false;
    default:
      frame::write_integer(f.data() + 38, static_cast<std::uint16_t>(random_below(2000)));
      return false;
  }
}

}  // namespace frames
