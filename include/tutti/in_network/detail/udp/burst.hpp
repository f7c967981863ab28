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

/// Packets to one address that go to the system together: all of one length, but that the last may be shorter.
class burst {
 public:
  static constexpr std::size_t most = 60;  ///< the system takes 64, and 64 KiB

  burst() : bytes_(most * most_packet) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The address that it is for, also when it is empty.
  [[nodiscard]] endpoint const& to() const noexcept { return to_; }
  /// Makes it one for another address. @pre empty()
  void begin(endpoint const& to, int family) noexcept {
    to_ = to;
    where_ = to.as(family);
  }
  /// Whether a packet of so many bytes fits in.
  [[nodiscard]] bool has_room(std::size_t size) const noexcept {
    return count_ == 0 || (count_ < most && size <= segment_ && used_ == count_ * segment_);
  }
  /// @pre has_room() for it
  void add(header const& h, std::span<std::byte const> payload, seal const& s) noexcept {
    std::size_t const size = s.write(h, payload, bytes_.data() + used_);
    segment_ = count_ == 0 ? size : segment_;
    used_ += size;
    ++count_;
  }

  enum class sending {
    done,
    full,    ///< the system takes no more for now; what is left is still here
    failed,  ///< what was left is dropped
  };
  struct progress {
    sending state;
    std::size_t sent;
    std::size_t dropped;
    std::size_t calls;
  };

  /// Hands it to the system: as one datagram that the system cuts, or packet by packet. `offload` is switched off if
  /// the way to that address cannot.
  progress send(int fd, bool& offload) noexcept {
    if (offload && count_ > 1) {
      if (send_whole(fd)) {
        return ended(sending::done, count_, 1);
      }
      if (is_full(errno)) {
        return {sending::full, 0, 0, 1};
      }
      if (errno != EIO && errno != EINVAL && errno != EOPNOTSUPP) {
        return ended(sending::failed, 0, 1);
      }
      offload = false;
    }
    return send_each(fd);
  }

 private:
  [[nodiscard]] static bool is_full(int code) noexcept { return code == EAGAIN; }

  progress ended(sending state, std::size_t sent, std::size_t calls) noexcept {
    std::size_t const dropped = count_ - sent;
    count_ = 0;
    used_ = 0;
    return {state, sent, dropped, calls};
  }

  [[nodiscard]] bool send_whole(int fd) noexcept {
    iovec part{bytes_.data(), used_};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
    msghdr m = message(part);
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    auto const segment = static_cast<std::uint16_t>(segment_);
    std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    return ::sendmsg(fd, &m, MSG_DONTWAIT) >= 0;
  }

  progress send_each(int fd) noexcept {
    std::array<iovec, most> parts;
    std::array<mmsghdr, most> all;
    for (std::size_t i = 0; i < count_; ++i) {
      std::size_t const at = i * segment_;
      parts[i] = {bytes_.data() + at, used_ - at < segment_ ? used_ - at : segment_};
      all[i] = {message(parts[i]), 0};
    }
    std::size_t sent = 0;
    std::size_t calls = 0;
    while (sent < count_) {
      ++calls;
      int const n = ::sendmmsg(fd, all.data() + sent, static_cast<unsigned>(count_ - sent), MSG_DONTWAIT);
      if (n > 0) {
        sent += static_cast<std::size_t>(n);
      } else if (is_full(errno)) {
        count_ -= sent;
        used_ -= sent * segment_;
        std::memmove(bytes_.data(), bytes_.data() + sent * segment_, used_);
        return {sending::full, sent, 0, calls};
      } else {
        return ended(sending::failed, sent, calls);
      }
    }
    return ended(sending::done, sent, calls);
  }

  [[nodiscard]] msghdr message(iovec& part) noexcept {
    msghdr m{};
    m.msg_name = const_cast<sockaddr*>(where_.data());  // it is only read
    m.msg_namelen = where_.size();
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    return m;
  }

  endpoint to_{};
  net::address where_{};
  std::size_t count_ = 0;
  std::size_t used_ = 0;
  std::size_t segment_ = 0;  ///< bytes of each packet but the last
  std::vector<std::byte> bytes_;
};

}  // namespace tutti::detail::udp
