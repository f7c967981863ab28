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

/// The treatment of packets from strangers, and of harmful ones. A stranger's packet costs no allocation, except that a
/// device begins a job for a join.
///
///     packet                                          a device                          a rank
///     malformed (`parse`), or of a wrong kind         drops, counts as malformed        drops, counts as ignored
///     without the right tag, or with a needless one   drops, counts as invalid tag      drops, counts as ignored
///     of another job, or not from a known address     refuses as `unknown`, counts: a   drops, counts as ignored
///                                                     refusal is no longer than the
///                                                     packet, one in 100 us
///     join of a new job                               begins it; with a guard, refuses  -
///                                                     it until the sender has proved
///                                                     its address: ten in 1 ms
///     of a member, but not its turn or its number     refuses with the reason, counts   drops, counts as ignored
///     late, repeated or replayed                      as any duplicate (member_lanes)   drops, counts as ignored
///
/// The stand-in gets only good packets of its job from its rank, and refuses as a device does. It drops joins of others
/// than its members, uncounted. The jobs that a device evicts: summing_switch::find_victim.
/// Counters: fpga_nic::counters of a device, fpga_nic_counters and udp_multicast_counters of a rank.
enum class reading : std::uint8_t { good, malformed_packet, invalid_tag };

/// Writes and reads packets, with an authentication tag if there is a secret key. With it, only packets with a valid
/// tag are accepted; without one, only packets without a tag. The tag keeps out senders that do not know the key. It
/// encrypts nothing, and a replayed packet is handled like any duplicate. Where the tag covers the wraps of the
/// sequence, that also holds for packets that are older than 2^32 others.
class seal {
 public:
  seal() noexcept = default;
  explicit seal(secret_key const& k) noexcept : key_(k) {}

  [[nodiscard]] bool has_key() const noexcept { return key_.has_value(); }

  /// The length of a packet with this payload.
  [[nodiscard]] std::size_t size(std::size_t payload) const noexcept {
    return header_bytes + payload + (key_ ? tag_bytes : 0);
  }

  /// Writes a packet and returns its length. @pre room for `max_packet` bytes; h.length == payload.size()
  std::size_t write(header h, std::span<std::byte const> payload, std::byte* target) const noexcept {
    h.flags = static_cast<std::uint16_t>((h.flags & ~flag::tag) | (key_ ? flag::tag : 0));
    udp::write(h, target);
    std::size_t size = header_bytes;
    if (!payload.empty()) {
      std::memcpy(target + size, payload.data(), payload.size());
      size += payload.size();
    }
    if (key_) {
      write_integer(target + size, tag_of({target, size}, h.wrap_count));
      size += tag_bytes;
    }
    return size;
  }

  /// A number that is equal for equal keys and reveals nothing else of them; 0 without a key.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept {
    static constexpr std::array<std::byte, 1> constant{};
    return key_ ? siphash(*key_, constant) | 1 : 0;
  }

  [[nodiscard]] reading read(std::span<std::byte const> bytes, packet& target) const noexcept {
    return read(bytes, target, [](header const&) { return 0U; });
  }
  /// @param wrap_count_of returns the number of wraps that the tag of a packet with this header must cover
  template <class WrapCount>
  [[nodiscard]] reading read(std::span<std::byte const> bytes, packet& target,
                             WrapCount const& wrap_count_of) const noexcept {
    if (!parse(bytes, target)) {
      return reading::malformed_packet;
    }
    if (target.head.has(flag::tag) != key_.has_value()) {
      return reading::invalid_tag;
    }
    if (key_) {
      std::size_t const size = bytes.size() - tag_bytes;
      target.head.wrap_count = wrap_count_of(target.head);
      if (tag_of(bytes.first(size), target.head.wrap_count) != read_integer<std::uint64_t>(bytes.data() + size)) {
        return reading::invalid_tag;
      }
    }
    return reading::good;
  }

 private:
  /// @pre there is a key
  [[nodiscard]] std::uint64_t tag_of(std::span<std::byte const> bytes, std::uint32_t wrap_count) const noexcept {
    std::uint64_t const tag = siphash(*key_, bytes);
    if (wrap_count == 0) {
      return tag;
    }
    std::array<std::byte, tag_bytes + sizeof wrap_count> text{};  // shorter than any packet
    write_integer(text.data(), tag);
    write_integer(text.data() + tag_bytes, wrap_count);
    return siphash(*key_, text);
  }

  std::optional<secret_key> key_;
};

}  // namespace tutti::detail::udp
