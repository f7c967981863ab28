// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Packets in the frames of a network: Ethernet II, IPv4 without options, UDP.
namespace frame {

using mac_address = std::array<std::uint8_t, 6>;

/// The address of a UDP port, and of the next station on the path to it.
struct place {
  mac_address mac{};
  std::uint32_t ip = 0;  ///< 10.0.0.1 is 0x0a000001
  std::uint16_t port = 0;

  friend bool operator==(place const&, place const&) = default;
};

/// A UDP datagram in a frame.
struct datagram {
  place source;
  place destination;
  bool has_ecn_mark = false;  ///< marked by ECN
  std::span<std::byte const> payload;
};

inline constexpr std::size_t headers = 14 + 20 + 8;
inline constexpr std::size_t min_size = 60;  ///< without the frame check sequence, as everywhere here
inline constexpr std::size_t max_size = 1514;
inline constexpr std::uint16_t type_ipv4 = 0x0800;
inline constexpr std::uint16_t type_arp = 0x0806;

/// Writes and reads network byte order.
template <class T>
void write_integer(std::byte* data, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    data[i] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - i)));
  }
}
template <class T>
[[nodiscard]] T read_integer(std::byte const* data) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value << 8 | static_cast<T>(data[i]));
  }
  return value;
}

/// A sum for Internet checksums, RFC 1071.
class checksum {
 public:
  /// @pre only the last call may add an odd number of bytes
  void add(std::span<std::byte const> bytes) noexcept {
    std::size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2) {
      sum_ += read_integer<std::uint16_t>(bytes.data() + i);
    }
    sum_ += i < bytes.size() ? static_cast<unsigned>(bytes[i]) << 8 : 0;
  }
  void add(std::uint32_t word) noexcept { sum_ += (word >> 16) + (word & 0xffffU); }

  [[nodiscard]] std::uint16_t value() const noexcept {
    std::uint64_t s = sum_;
    while (s >> 16 != 0) {
      s = (s & 0xffffU) + (s >> 16);
    }
    return static_cast<std::uint16_t>(~s);
  }

 private:
  std::uint64_t sum_ = 0;
};

/// The checksum of a UDP datagram. If the datagram contains a checksum, a valid one gives 0.
[[nodiscard]] inline std::uint16_t udp_checksum(std::byte const* ip, std::size_t length) noexcept {
  checksum c;
  c.add(read_integer<std::uint32_t>(ip + 12));
  c.add(read_integer<std::uint32_t>(ip + 16));
  c.add(std::uint32_t{17});
  c.add(static_cast<std::uint32_t>(length));
  c.add({ip + 20, length});
  return c.value();
}

/// Writes a datagram as a frame, and returns its length. @pre room for `max_size` bytes; the payload fits
inline std::size_t write(datagram const& d, std::byte* bytes) noexcept {
  std::memcpy(bytes, d.destination.mac.data(), 6);
  std::memcpy(bytes + 6, d.source.mac.data(), 6);
  write_integer(bytes + 12, type_ipv4);
  std::byte* const ip = bytes + 14;
  std::memset(ip, 0, 28);
  write_integer<std::uint8_t>(ip, 0x45);
  write_integer<std::uint8_t>(ip + 1, d.has_ecn_mark ? 3 : 2);  // ECT(0): ECN-capable, RFC 3168
  write_integer(ip + 2, static_cast<std::uint16_t>(28 + d.payload.size()));
  write_integer<std::uint16_t>(ip + 6, 0x4000);  // don't fragment
  write_integer<std::uint8_t>(ip + 8, 64);
  write_integer<std::uint8_t>(ip + 9, 17);
  write_integer(ip + 12, d.source.ip);
  write_integer(ip + 16, d.destination.ip);
  checksum c;
  c.add({ip, 20});
  write_integer(ip + 10, c.value());
  std::byte* const udp = ip + 20;
  std::size_t const length = 8 + d.payload.size();
  write_integer(udp, d.source.port);
  write_integer(udp + 2, d.destination.port);
  write_integer(udp + 4, static_cast<std::uint16_t>(length));
  if (!d.payload.empty()) {
    std::memcpy(udp + 8, d.payload.data(), d.payload.size());
  }
  std::uint16_t const sum = udp_checksum(ip, length);
  write_integer(udp + 6, sum == 0 ? std::uint16_t{0xffff} : sum);
  std::size_t const size = headers + d.payload.size();
  if (size >= min_size) {
    return size;
  }
  std::memset(bytes + size, 0, min_size - size);
  return min_size;
}

/// Reads a frame. False if it is no valid frame of an IPv4 UDP datagram without options.
[[nodiscard]] inline bool read(std::span<std::byte const> bytes, datagram& result) noexcept {
  if (bytes.size() < min_size || read_integer<std::uint16_t>(bytes.data() + 12) != type_ipv4) {
    return false;
  }
  std::byte const* const ip = bytes.data() + 14;
  std::byte const* const udp = ip + 20;
  std::size_t const total = read_integer<std::uint16_t>(ip + 2);
  std::size_t const length = read_integer<std::uint16_t>(udp + 4);
  checksum c;
  c.add({ip, 20});
  bool const is_udp =
      read_integer<std::uint8_t>(ip) == 0x45 && read_integer<std::uint8_t>(ip + 9) == 17 && c.value() == 0;
  if (!is_udp || (read_integer<std::uint16_t>(ip + 6) & 0x3fffU) != 0 || length < 8 || total != 20 + length ||
      14 + total > bytes.size() || (read_integer<std::uint16_t>(udp + 6) != 0 && udp_checksum(ip, length) != 0)) {
    return false;
  }
  std::memcpy(result.destination.mac.data(), bytes.data(), 6);
  std::memcpy(result.source.mac.data(), bytes.data() + 6, 6);
  result.source.ip = read_integer<std::uint32_t>(ip + 12);
  result.destination.ip = read_integer<std::uint32_t>(ip + 16);
  result.source.port = read_integer<std::uint16_t>(udp);
  result.destination.port = read_integer<std::uint16_t>(udp + 2);
  result.has_ecn_mark = (read_integer<std::uint8_t>(ip + 1) & 3U) == 3;
  result.payload = {udp + 8, length - 8};
  return true;
}

}  // namespace frame
