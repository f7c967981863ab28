// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/endpoint.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <netinet/udp.h>
#include <span>
#include <sys/socket.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::udp {

/// Packets to one address that go to the system in one call: all have one length, except that the last may be
/// shorter.
class burst {
 public:
  static constexpr std::size_t max_packets = 60;  ///< the system accepts 64, and 64 KiB

  burst() : bytes_(max_packets * max_packet) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The destination; also set in an empty burst.
  [[nodiscard]] endpoint const& destination() const noexcept { return destination_; }
  /// Sets another destination. @pre empty()
  void begin(endpoint const& destination, int family) noexcept {
    destination_ = destination;
    socket_address_ = destination.for_family(family);
  }
  /// True if a packet of this length fits.
  [[nodiscard]] bool has_room(std::size_t size) const noexcept {
    return count_ == 0 || (count_ < max_packets && size <= segment_ && bytes_used_ == count_ * segment_);
  }
  /// @pre has_room() for the packet
  void add(header const& h, std::span<std::byte const> payload, seal const& packet_seal) noexcept {
    std::size_t const size = packet_seal.write(h, payload, bytes_.data() + bytes_used_);
    segment_ = count_ == 0 ? size : segment_;
    bytes_used_ += size;
    ++count_;
  }

  enum class send_state {
    complete,
    would_block,  ///< the socket buffer is full; unsent packets remain in the burst
    failure,      ///< unsent packets are dropped
  };
  struct progress {
    send_state state;
    std::size_t sent_count;
    std::size_t dropped_count;
    std::size_t call_count;
  };

  /// Hands the packets to the system: as one datagram that the system segments, or one by one. Clears `offload` if
  /// the path to the destination does not support segmentation.
  progress send(int fd, bool& offload) noexcept {
    if (offload && count_ > 1) {
      if (send_whole(fd)) {
        return finish(send_state::complete, count_, 1);
      }
      if (is_full(errno)) {
        return {send_state::would_block, 0, 0, 1};
      }
      if (errno != EIO && errno != EINVAL && errno != EOPNOTSUPP) {
        return finish(send_state::failure, 0, 1);
      }
      offload = false;
    }
    return send_each(fd);
  }

 private:
  [[nodiscard]] static bool is_full(int code) noexcept { return code == EAGAIN; }

  progress finish(send_state state, std::size_t sent_count, std::size_t call_count) noexcept {
    std::size_t const dropped_count = count_ - sent_count;
    count_ = 0;
    bytes_used_ = 0;
    return {state, sent_count, dropped_count, call_count};
  }

  [[nodiscard]] bool send_whole(int fd) noexcept {
    iovec part{bytes_.data(), bytes_used_};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
    msghdr header_of_message = message(part);
    header_of_message.msg_control = control.data();
    header_of_message.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&header_of_message);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    auto const segment = static_cast<std::uint16_t>(segment_);
    std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    return ::sendmsg(fd, &header_of_message, MSG_DONTWAIT) >= 0;
  }

  progress send_each(int fd) noexcept {
    std::array<iovec, max_packets> parts;
    std::array<mmsghdr, max_packets> messages;
    for (std::size_t i = 0; i < count_; ++i) {
      std::size_t const at = i * segment_;
      parts[i] = {bytes_.data() + at, bytes_used_ - at < segment_ ? bytes_used_ - at : segment_};
      messages[i] = {message(parts[i]), 0};
    }
    std::size_t sent_count = 0;
    std::size_t call_count = 0;
    while (sent_count < count_) {
      ++call_count;
      int const n =
          ::sendmmsg(fd, messages.data() + sent_count, static_cast<unsigned>(count_ - sent_count), MSG_DONTWAIT);
      if (n > 0) {
        sent_count += static_cast<std::size_t>(n);
      } else if (is_full(errno)) {
        count_ -= sent_count;
        bytes_used_ -= sent_count * segment_;
        std::memmove(bytes_.data(), bytes_.data() + sent_count * segment_, bytes_used_);
        return {send_state::would_block, sent_count, 0, call_count};
      } else {
        return finish(send_state::failure, sent_count, call_count);
      }
    }
    return finish(send_state::complete, sent_count, call_count);
  }

  [[nodiscard]] msghdr message(iovec& part) noexcept {
    msghdr header_of_message{};
    header_of_message.msg_name = const_cast<sockaddr*>(socket_address_.data());  // the system only reads it
    header_of_message.msg_namelen = socket_address_.size();
    header_of_message.msg_iov = &part;
    header_of_message.msg_iovlen = 1;
    return header_of_message;
  }

  endpoint destination_{};
  net::address socket_address_{};
  std::size_t count_ = 0;
  std::size_t bytes_used_ = 0;
  std::size_t segment_ = 0;  ///< length of each packet but the last
  std::vector<std::byte> bytes_;
};

}  // namespace tutti::detail::udp
