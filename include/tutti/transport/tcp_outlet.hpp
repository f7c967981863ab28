// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/descriptor.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/transport/tcp_frame.hpp>

#include <algorithm>
#include <sys/uio.h>
#include <vector>

namespace tutti::net {

/// The sending half of a connection: writes messages straight from the user's memory, as far as the
/// system takes them.
///
/// One message at a time is on the wire; until all of it has been accepted, those of other lanes and
/// all other frames wait. What has been accepted but not yet taken by the system - frames without
/// payload, and the end of a granule that the system split - is kept here.
class outlet {
 public:
  outlet(std::size_t eager, std::size_t window) : eager_(eager), window_(window) {
    rest_.reserve(4096);
    deferred_.reserve(1024);
  }

  /// Offers the rest of a message. @see transport
  [[nodiscard]] sent offer(int fd, stream s, std::span<std::byte const> bytes, std::size_t granule, call const& what) {
    if (!flush(fd) || !may_write(fd, s, bytes.size(), what)) {
      return {};
    }
    lane& l = lanes_[s.lane];
    bool const starts = owner_ == no_lane;
    frame const head{.kind = l.has_grant() ? frame_kind::granted : frame_kind::eager,
                     .lane = static_cast<std::uint8_t>(s.lane),
                     .number = s.number,
                     .index = l.index,
                     .bytes = bytes.size(),
                     .what = what};
    std::size_t const front = starts ? sizeof head : 0;
    std::size_t const pad = padding(starts ? bytes.size() : total_);
    iovec const parts[] = {part(&head, front), part(bytes.data(), bytes.size()), part(zeros, pad)};
    std::size_t const put = write(fd, parts, front + bytes.size() + pad);
    if (put == 0) {
      return {};
    }
    if (starts) {
      owner_ = s.lane;
      total_ = bytes.size();
      l.used += head.kind == frame_kind::eager ? eager_cost(total_) : 0;
    }
    std::size_t const split = put <= front ? 0 : put - front;
    std::size_t const whole = std::min((split + granule - 1) / granule * granule, bytes.size());
    bool const ends = whole == bytes.size();
    keep(parts, put, front + whole + (ends ? pad : 0));
    if (ends) {
      ++l.index;
      l.announced = false;
      owner_ = no_lane;
    }
    return {ends || whole != 0, whole, 0};
  }

  /// Queues a frame without payload; it never lands in the middle of a message. Nothing follows a
  /// goodbye: who asks this rank what it is doing while it leaves gets no answer.
  void tell(frame const& f) {
    if (said_bye_) {
      return;
    }
    said_bye_ = f.kind == frame_kind::bye;
    auto& queue = owner_ == no_lane && deferred_.empty() ? rest_ : deferred_;
    auto const bytes = bytes_of(f);
    queue.insert(queue.end(), bytes.begin(), bytes.end());
  }

  /// Writes what is kept; true when nothing is left that goes before the next payload.
  bool flush(int fd) {
    if (owner_ == no_lane && !deferred_.empty()) {
      rest_.insert(rest_.end(), deferred_.begin(), deferred_.end());
      deferred_.clear();
    }
    if (done_ != rest_.size()) {
      iovec const one = part(rest_.data() + done_, rest_.size() - done_);
      done_ += write(fd, {&one, 1}, one.iov_len);
      if (done_ != rest_.size()) {
        return false;
      }
    }
    rest_.clear();
    done_ = 0;
    return true;
  }

  /// The receiver waits for this message.
  void grant(std::uint32_t on, std::uint32_t index) noexcept {
    lanes_[on].grant = index;
    lanes_[on].granted = true;
  }
  /// The receiver has taken so much of the eager messages.
  void credit(std::uint32_t on, std::size_t bytes) noexcept { lanes_[on].used -= std::min(bytes, lanes_[on].used); }

  /// Whether the next message of the lane has been announced and waits for its grant.
  [[nodiscard]] bool waits(std::uint32_t on) const noexcept { return lanes_[on].announced && !lanes_[on].has_grant(); }
  /// Part of a message is on the wire and the rest has not been accepted: nothing else can be sent.
  [[nodiscard]] bool torn() const noexcept { return owner_ != no_lane; }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty() && deferred_.empty(); }
  /// The system took less than it was given the last time.
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }
  /// Writing failed: the peer reads no more.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  static constexpr std::uint32_t no_lane = lane_count;
  static constexpr std::byte zeros[frame_alignment] = {};

  struct lane {
    std::uint32_t index = 0;  ///< of the message that is offered
    std::uint32_t grant = 0;  ///< the last one granted
    bool granted = false;     ///< whether there was one
    bool announced = false;
    std::size_t used = 0;  ///< of the window

    [[nodiscard]] bool has_grant() const noexcept { return granted && grant == index; }
  };

  [[nodiscard]] static iovec part(void const* data, std::size_t bytes) noexcept {
    return {const_cast<void*>(data), bytes};
  }

  [[nodiscard]] bool may_write(int fd, stream s, std::size_t bytes, call const& what) {
    if (owner_ != no_lane) {
      return owner_ == s.lane;
    }
    lane& l = lanes_[s.lane];
    if (l.has_grant() || (!l.announced && bytes <= eager_ && l.used + eager_cost(bytes) <= window_)) {
      return true;
    }
    if (!l.announced) {
      l.announced = true;
      tell({.kind = frame_kind::announce,
            .lane = static_cast<std::uint8_t>(s.lane),
            .number = s.number,
            .index = l.index,
            .bytes = bytes,
            .what = what});
      flush(fd);
    }
    return false;
  }

  /// Keeps bytes [from, until) of what the parts say one after the other.
  void keep(std::span<iovec const> parts, std::size_t from, std::size_t until) {
    std::size_t at = 0;
    for (iovec const& p : parts) {
      std::size_t const first = std::max(from, at);
      std::size_t const last = std::min(until, at + p.iov_len);
      if (first < last) {
        auto const* data = static_cast<std::byte const*>(p.iov_base);
        rest_.insert(rest_.end(), data + (first - at), data + (last - at));
      }
      at += p.iov_len;
    }
  }

  [[nodiscard]] std::size_t write(int fd, std::span<iovec const> parts, std::size_t bytes) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    for (;;) {
      ssize_t const put = broken_ ? 0 : ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) {
        continue;
      }
      broken_ = broken_ || (put < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
      std::size_t const done = put < 0 ? 0 : static_cast<std::size_t>(put);
      blocked_ = done != bytes;
      return done;
    }
  }

  std::size_t eager_;
  std::size_t window_;  ///< the peer's
  lane lanes_[lane_count];
  std::uint32_t owner_ = no_lane;  ///< the lane whose message is on the wire
  std::size_t total_ = 0;          ///< its length
  std::vector<std::byte> rest_;
  std::size_t done_ = 0;  ///< so much of the rest has been written
  std::vector<std::byte> deferred_;
  bool blocked_ = false;
  bool broken_ = false;
  bool said_bye_ = false;
};

}  // namespace tutti::net
