// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/endpoint.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <span>
#include <sys/socket.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::udp {

/// Receive buffers of a UDP socket, for packets, or for bursts of one sender that the system has merged (GRO).
class udp_inbox {
 public:
  explicit udp_inbox(bool bursts)
      : buffer_bytes_(bursts ? std::size_t{1} << 16
                             : max_packet + 1),  // one byte more reveals packets that are too long
        bytes_(depth * buffer_bytes_) {
    for (std::size_t i = 0; i < depth; ++i) {
      parts_[i] = {bytes_.data() + i * buffer_bytes_, buffer_bytes_};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = &parts_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      messages_[i].msg_hdr.msg_name = &sources_[i];
      messages_[i].msg_hdr.msg_control = control_[i].bytes.data();
      prepare(i);
    }
  }
  udp_inbox(udp_inbox const&) = delete;
  udp_inbox& operator=(udp_inbox const&) = delete;

  /// True if the buffers can hold merged bursts.
  [[nodiscard]] bool takes_bursts() const noexcept { return buffer_bytes_ > max_packet + 1; }

  /// Reads some packets, and calls f(source, bytes, congested) for each. Returns their number.
  template <class F>
  std::size_t read(int fd, F&& f) {
    int const n = ::recvmmsg(fd, messages_.data(), depth, MSG_DONTWAIT, nullptr);
    std::size_t packets = 0;
    for (std::size_t i = 0; n > 0 && i < static_cast<std::size_t>(n); ++i) {
      std::size_t const size = messages_[i].msg_len;
      std::span<std::byte const> const bytes(bytes_.data() + i * buffer_bytes_, size);
      auto const [segment, has_ecn_mark] = read_ancillary_data(messages_[i].msg_hdr, size);
      endpoint const source(reinterpret_cast<sockaddr const*>(&sources_[i]));
      for (std::size_t at = 0; at == 0 || at < size; at += segment) {  // an empty datagram is one packet
        ++packets;
        f(source, bytes.subspan(at, size - at < segment ? size - at : segment), has_ecn_mark);
        if (segment == 0) {
          break;
        }
      }
      prepare(i);
    }
    return packets;
  }

 private:
  static constexpr std::size_t depth = 32;

  void prepare(std::size_t i) noexcept {
    messages_[i].msg_hdr.msg_namelen = sizeof sources_[i];
    messages_[i].msg_hdr.msg_controllen = control_[i].bytes.size();
  }

  struct ancillary_data {
    std::size_t segment;  ///< length of each packet but the last
    bool has_ecn_mark;
  };
  [[nodiscard]] static ancillary_data read_ancillary_data(msghdr& m, std::size_t size) noexcept {
    constexpr unsigned ecn = 3;
    constexpr unsigned ce = 3;  // "congestion experienced", RFC 3168
    ancillary_data result{size, false};
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
      if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
        int segment = 0;
        std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
        result.segment = static_cast<std::size_t>(segment);
      } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
        std::uint8_t tos = 0;
        std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
        result.has_ecn_mark = (tos & ecn) == ce;
      } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
        unsigned traffic_class = 0;
        std::memcpy(&traffic_class, CMSG_DATA(c), sizeof traffic_class);
        result.has_ecn_mark = (traffic_class & ecn) == ce;
      }
    }
    return result;
  }

  struct control {
    alignas(cmsghdr) std::array<std::byte, 128> bytes;
  };

  std::size_t buffer_bytes_;  ///< bytes of each buffer
  std::vector<std::byte> bytes_;
  std::array<mmsghdr, depth> messages_;
  std::array<iovec, depth> parts_;
  std::array<sockaddr_in6, depth> sources_;
  std::array<control, depth> control_;
};

}  // namespace tutti::detail::udp
