// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

enum class reading : std::uint8_t { good, malformed, badly_tagged };

/// How packets are written and read: with a tag, if there is a key. Of those with a key no other packet is read; of
/// those without one none that is tagged. The tag keeps out packets of senders that do not know the key; it hides
/// nothing, and a packet that is sent again is a duplicate like any other.
class seal {
 public:
  seal() noexcept = default;
  explicit seal(key const& k) noexcept : key_(k) {}

  /// The length of a packet with so much payload.
  [[nodiscard]] std::size_t size(std::size_t payload) const noexcept {
    return header_bytes + payload + (key_ ? tag_bytes : 0);
  }

  /// Writes a packet, and returns its length. @pre room for `most_packet` bytes; h.length == payload.size()
  std::size_t write(header h, std::span<std::byte const> payload, std::byte* to) const noexcept {
    h.flags = static_cast<std::uint16_t>((h.flags & ~flag::tagged) | (key_ ? flag::tagged : 0));
    udp::write(h, to);
    std::size_t size = header_bytes;
    if (!payload.empty()) {
      std::memcpy(to + size, payload.data(), payload.size());
      size += payload.size();
    }
    if (key_) {
      put(to + size, siphash(*key_, {to, size}));
      size += tag_bytes;
    }
    return size;
  }

  /// Equal for equal keys, and tells nothing else of them; 0: there is no key.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept {
    static constexpr std::array<std::byte, 1> any{};
    return key_ ? siphash(*key_, any) | 1 : 0;
  }

  [[nodiscard]] reading read(std::span<std::byte const> bytes, packet& to) const noexcept {
    if (!parse(bytes, to)) {
      return reading::malformed;
    }
    if (to.head.has(flag::tagged) != key_.has_value()) {
      return reading::badly_tagged;
    }
    if (key_) {
      std::size_t const size = bytes.size() - tag_bytes;
      if (siphash(*key_, bytes.first(size)) != get<std::uint64_t>(bytes.data() + size)) {
        return reading::badly_tagged;
      }
    }
    return reading::good;
  }

 private:
  std::optional<key> key_;
};

}  // namespace tutti::detail::udp
