// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

/// Random packets of a few jobs under way, some of them with changed fields, bits and lengths. A source of numbers
/// below a limit decides.
class draw {
 public:
  static constexpr std::uint32_t jobs = 3;
  static constexpr std::uint16_t slots = 2;
  static constexpr unsigned workers = 3;
  static constexpr std::uint32_t blocks = 3;                   ///< blocks of weights
  static constexpr std::size_t memory = std::size_t{1} << 20;  ///< limit of a device

  using number_source = std::function<std::uint64_t(std::uint64_t limit)>;

  /// @param first number of the first packet; sequences and versions follow it
  draw(number_source random, tutti::detail::udp::seal const& seal, std::uint64_t first = 0)
      : random_(std::move(random)), seal_(seal), packet_count_(first) {}

  /// The next packet, valid until the following call.
  [[nodiscard]] std::span<std::byte const> packet();

  /// A random number below n.
  [[nodiscard]] std::size_t random_below(std::size_t n) { return static_cast<std::size_t>(random_(n)); }
  [[nodiscard]] bool one_in(std::size_t n) { return random_below(n) == 0; }

 private:
  [[nodiscard]] tutti::detail::udp::header header();
  /// The version that blocks have by now, if they follow all updates.
  [[nodiscard]] std::uint32_t version() const { return static_cast<std::uint32_t>(packet_count_ / 400); }
  void mutate();

  number_source random_;
  tutti::detail::udp::seal seal_;
  std::uint64_t packet_count_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> payload_;
};

inline tutti::detail::udp::header draw::header() {
  namespace nic = tutti::detail::fpga_nic;
  constexpr std::array kinds{nic::kind::join,       nic::kind::contribute, nic::kind::contribute, nic::kind::contribute,
                             nic::kind::contribute, nic::kind::contribute, nic::kind::contribute, nic::kind::query,
                             nic::kind::supply,     nic::kind::contribute, nic::kind::contribute};
  nic::header h;
  h.kind = kinds[random_below(kinds.size())];
  bool const is_keyed = one_in(6);
  if (is_keyed) {
    h.kind = one_in(3) ? nic::kind::query : nic::kind::supply;
  }
  if (one_in(40)) {
    h.kind = static_cast<nic::kind>(random_below(16));
  }
  h.job = static_cast<std::uint32_t>(1 + random_below(jobs));
  // Sequences advance slowly, and wrap around in the middle of a long run.
  std::uint64_t const turn = packet_count_ / 40;
  h.sequence = static_cast<std::uint32_t>(turn + random_below(3) - 20'000);
  if (one_in(10)) {
    h.sequence -= static_cast<std::uint32_t>(random_below(8));
  }
  h.slot = static_cast<std::uint16_t>(h.sequence % slots);
  h.flags = static_cast<std::uint16_t>(h.sequence / slots % 2);
  h.operation = static_cast<tutti::network_operation>(1 + h.sequence / 7 % 5);
  h.fingerprint = h.sequence / 5 + (one_in(50) ? 1 : 0);
  h.workers = static_cast<std::uint8_t>(one_in(50) ? 1 + random_below(255) : workers);
  h.worker = static_cast<std::uint8_t>(random_below(h.workers));
  if (h.sequence / 3 % 2 == 0) {
    h.flags |= nic::flag::in_rank_order;
  }
  if (one_in(8)) {
    h.flags |= nic::flag::no_data;
  }
  if (h.kind == nic::kind::join || h.kind == nic::kind::grant) {
    h.length = nic::terms::bytes;
    h.flags = nic::flag::in_rank_order;
  } else if (h.kind == nic::kind::refuse) {
    h.length = 1;
  } else if (h.kind == nic::kind::missing) {
    h.length = static_cast<std::uint16_t>(nic::bitmap_bytes(h.workers));
  } else if (h.kind == nic::kind::contribute || h.kind == nic::kind::supply || h.kind == nic::kind::result) {
    h.length = one_in(20) ? 0 : static_cast<std::uint16_t>(4 * (1 + h.sequence % 256));
  }
  if (nic::has_terms(h)) {
    h.length = nic::block_bytes + nic::update_terms::bytes;
  }
  if (is_keyed) {
    h.flags |= nic::flag::weights;
    h.sequence = static_cast<std::uint32_t>(one_in(50) ? random_below(UINT32_MAX) : random_below(blocks));
    h.fingerprint = version();
    h.length = h.kind == nic::kind::supply ? nic::block_bytes : 0;
  }
  return h;
}

inline std::span<std::byte const> draw::packet() {
  namespace nic = tutti::detail::fpga_nic;
  ++packet_count_;
  if (!bytes_.empty() && one_in(20)) {
    mutate();  // a mutation of the previous packet
    return bytes_;
  }
  nic::header const h = header();
  payload_.resize(h.length);
  auto const seed = std::uint64_t{random_below(256)};
  std::ranges::generate(
      payload_, [x = seed]() mutable { return static_cast<std::byte>((x = x * 0x5851f42d4c957f2d + 1) >> 56); });
  // A keyed packet of any kind has a fixed length.
  if (h.kind == nic::kind::join && h.length == nic::terms::bytes) {
    nic::write(nic::terms{static_cast<std::uint32_t>(random_below(20)), static_cast<std::uint16_t>(random_below(4))},
               payload_.data());
  }
  if (nic::has_terms(h) && h.length == nic::block_bytes + nic::update_terms::bytes) {
    std::uint32_t const step = one_in(50) ? 1 : 0;
    nic::write(nic::update_terms{h.sequence % blocks, version() - step, 0x3dcccccd, 0},
               payload_.data() + nic::block_bytes);
  }
  bytes_.resize(nic::max_packet);
  bytes_.resize(seal_.write(h, payload_, bytes_.data()));
  if (one_in(3)) {
    mutate();
  }
  return bytes_;
}

inline void draw::mutate() {
  namespace nic = tutti::detail::fpga_nic;
  for (std::size_t n = 1 + random_below(3); n > 0; --n) {
    std::size_t const header = std::min(bytes_.size(), nic::header_bytes);
    switch (random_below(7)) {
      case 0:
        if (!bytes_.empty()) {
          bytes_[random_below(bytes_.size())] ^= static_cast<std::byte>(1U << random_below(8));
        }
        break;
      case 1:
        if (header != 0) {
          bytes_[random_below(header)] = static_cast<std::byte>(random_below(256));
        }
        break;
      case 2:
        if (header != 0) {
          bytes_[random_below(header)] = one_in(2) ? std::byte{0xff} : std::byte{0};
        }
        break;
      case 3:
        bytes_.resize(random_below(bytes_.size() + 1));
        break;
      case 4:
        bytes_.resize(bytes_.size() + random_below(40), static_cast<std::byte>(random_below(256)));
        break;
      case 5:  // a length that fits the datagram
        if (bytes_.size() >= nic::header_bytes) {
          nic::write_integer(bytes_.data() + 16, static_cast<std::uint16_t>(bytes_.size() - nic::header_bytes));
        }
        break;
      default:  // a field that fits another packet
        if (header == nic::header_bytes) {
          std::size_t const offset = random_below(header - 4);
          std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), 4,
                      bytes_.begin() + static_cast<std::ptrdiff_t>(random_below(header - 4)));
        }
    }
  }
}
