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

/// Room for what comes to a UDP socket: packets, or bursts of one sender that the system has put together.
class udp_inbox {
 public:
  explicit udp_inbox(bool bursts)
      : room_(bursts ? std::size_t{1} << 16 : most_packet + 1),  // one more: longer ones are seen to be longer
        bytes_(depth * room_) {
    for (std::size_t i = 0; i < depth; ++i) {
      parts_[i] = {bytes_.data() + i * room_, room_};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = &parts_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      messages_[i].msg_hdr.msg_name = &from_[i];
      messages_[i].msg_hdr.msg_control = control_[i].bytes.data();
      get_ready(i);
    }
  }
  udp_inbox(udp_inbox const&) = delete;
  udp_inbox& operator=(udp_inbox const&) = delete;

  /// Whether there is room for bursts that the system has put together.
  [[nodiscard]] bool takes_bursts() const noexcept { return room_ > most_packet + 1; }

  /// Reads what is there, or some of it, and calls f(from, bytes, congested) for each packet. Returns how many.
  template <class F>
  std::size_t read(int fd, F&& f) {
    int const n = ::recvmmsg(fd, messages_.data(), depth, MSG_DONTWAIT, nullptr);
    std::size_t packets = 0;
    for (std::size_t i = 0; n > 0 && i < static_cast<std::size_t>(n); ++i) {
      std::size_t const size = messages_[i].msg_len;
      std::span<std::byte const> const bytes(bytes_.data() + i * room_, size);
      auto const [segment, congested] = notes(messages_[i].msg_hdr, size);
      endpoint const from(reinterpret_cast<sockaddr const*>(&from_[i]));
      for (std::size_t at = 0; at == 0 || at < size; at += segment) {  // an empty packet is one, too
        ++packets;
        f(from, bytes.subspan(at, size - at < segment ? size - at : segment), congested);
        if (segment == 0) {
          break;
        }
      }
      get_ready(i);
    }
    return packets;
  }

 private:
  static constexpr std::size_t depth = 32;

  void get_ready(std::size_t i) noexcept {
    messages_[i].msg_hdr.msg_namelen = sizeof from_[i];
    messages_[i].msg_hdr.msg_controllen = control_[i].bytes.size();
  }

  struct note {
    std::size_t segment;  ///< bytes of each packet but the last
    bool congested;
  };
  [[nodiscard]] static note notes(msghdr& m, std::size_t size) noexcept {
    constexpr unsigned ecn = 3;
    constexpr unsigned ce = 3;  // "congestion experienced", RFC 3168
    note out{size, false};
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
      if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
        int segment = 0;
        std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
        out.segment = static_cast<std::size_t>(segment);
      } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
        std::uint8_t tos = 0;
        std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
        out.congested = (tos & ecn) == ce;
      } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
        unsigned traffic_class = 0;
        std::memcpy(&traffic_class, CMSG_DATA(c), sizeof traffic_class);
        out.congested = (traffic_class & ecn) == ce;
      }
    }
    return out;
  }

  struct control {
    alignas(cmsghdr) std::array<std::byte, 128> bytes;
  };

  std::size_t room_;  ///< of each
  std::vector<std::byte> bytes_;
  std::array<mmsghdr, depth> messages_;
  std::array<iovec, depth> parts_;
  std::array<sockaddr_in6, depth> from_;
  std::array<control, depth> control_;
};

}  // namespace tutti::detail::udp
