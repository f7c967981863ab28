// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/tcp/frame.hpp>
#include <tutti/extend/expects.hpp>

#include <sys/uio.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The sending half of a connection: writes messages straight from the user's memory, as far as the
/// system takes them.
///
/// Messages travel in pieces, one after the other; until all of a piece has been accepted, other lanes and
/// all other frames wait. A piece is sent when the receiver has room for it, whether it is waited for
/// there or not. What has been accepted but not yet taken by the system - frames without payload, and the
/// end of a granule that the system split - is kept here.
class frame_writer {
 public:
  /// `window`: how much the peer keeps. `own`: how much this rank does.
  frame_writer(std::size_t piece, std::size_t window, std::size_t own)
      : piece_((std::min)((std::min)(piece, window / 2), std::size_t{1} << 31)),
        window_(window),
        most_owed_(most_owed(own)) {
    rest_.reserve(4096);
    deferred_.reserve(4096);
  }

  /// Offers the rest of a message. @see transport
  [[nodiscard]] sent offer(int fd, flow s, std::span<std::byte const> bytes, std::size_t granule, call const& what) {
    lane& l = lanes_[s.lane];
    bool const starts = owner_ == no_lane;
    l.waits = false;
    if (!flush(fd) || (!starts && owner_ != s.lane)) {
      return {};
    }
    if (starts) {
      part_ = room_for(l, bytes.size(), granule);
      l.waits = bytes.empty() ? room(l) == 0 : part_ == 0;
      if (l.waits) {
        return {};
      }
      l.total = l.sent == 0 ? bytes.size() : l.total;
      left_ = part_;
    }
    frame head{.kind = frame_kind::piece,
               .lane = static_cast<std::uint8_t>(s.lane),
               .number = s.number,
               .part = static_cast<std::uint32_t>(part_),
               .bytes = l.total,
               .what = what};
    std::copy(owed_, owed_ + lane_count, head.credits);
    std::size_t const front = starts ? sizeof head : 0;
    std::size_t const pad = padding(part_);
    iovec const parts[] = {part(&head, front), part(bytes.data(), left_), part(zeros, pad)};
    std::size_t const put = write(fd, parts, front + left_ + pad);
    if (put == 0) {
      return {};
    }
    if (starts) {
      owner_ = s.lane;
      l.used += static_cast<std::int64_t>(cost(part_));
      std::fill_n(owed_, lane_count, 0U);
    }
    std::size_t const split = put <= front ? 0 : put - front;
    std::size_t const whole = (std::min)((split + granule - 1) / granule * granule, left_);
    bool const ends = whole == left_;
    keep(parts, put, front + whole + (ends ? pad : 0));
    left_ -= whole;
    l.sent += whole;
    if (ends) {
      owner_ = no_lane;
      l.sent = l.sent == l.total ? 0 : l.sent;
    }
    return {ends || whole != 0, whole, 0};
  }

  /// Queues a frame without payload; it never lands in the middle of a message. Nothing follows a
  /// goodbye: a peer that asks this rank what it is doing while it leaves gets no answer.
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

  /// The receiver has taken what a frame says.
  void credit(frame const& f) noexcept {
    for (std::uint32_t on = 0; on < lane_count; ++on) {
      lanes_[on].used -= f.credits[on];
    }
  }
  /// This rank has taken this many bytes. The peer hears of it with the next piece, or at once if that is much.
  void owe(std::uint32_t on, std::size_t bytes) {
    owed_[on] += static_cast<std::uint32_t>(bytes);
    if (owed_[on] > most_owed_) {
      frame f{.kind = frame_kind::credit};
      std::copy(owed_, owed_ + lane_count, f.credits);
      std::fill_n(owed_, lane_count, 0U);
      tell(f);
    }
  }

  /// Whether the lane waits until the receiver has taken more.
  [[nodiscard]] bool waits(std::uint32_t on) const noexcept { return lanes_[on].waits; }
  /// Part of a piece is on the wire and the rest has not been accepted: nothing else can be sent.
  [[nodiscard]] bool torn() const noexcept { return owner_ != no_lane; }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty() && deferred_.empty(); }
  /// The system took less than it was given the last time.
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }
  /// Writing failed: the peer reads no more.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  static constexpr std::uint32_t no_lane = lane_count;
  static constexpr std::byte zeros[frame_alignment] = {};
  /// Less is copied to one place before it is written: to take several costs the system more than that.
  static constexpr std::size_t worth_gathering = 2048;

  struct lane {
    std::size_t total = 0;  ///< of the message that is offered
    std::size_t sent = 0;   ///< of it
    std::int64_t used = 0;  ///< of the window; below 0: there is credit for what has not been sent
    bool waits = false;
  };

  [[nodiscard]] static iovec part(void const* data, std::size_t bytes) noexcept {
    return {const_cast<void*>(data), bytes};
  }

  /// What is left of a lane's window, for payload.
  [[nodiscard]] std::size_t room(lane const& l) const noexcept {
    auto const left = static_cast<std::int64_t>(window_) - l.used;
    return left < static_cast<std::int64_t>(cost(0))
               ? 0
               : static_cast<std::size_t>(left) / frame_alignment * frame_alignment;
  }

  /// How much of a message may be sent now, in whole granules. The receiver may owe a part of the window,
  /// so a granule that does not fit into the rest goes when the window is as good as empty.
  [[nodiscard]] std::size_t room_for(lane const& l, std::size_t bytes, std::size_t granule) const noexcept {
    std::size_t const wished = (std::min)(bytes, (std::max)(piece_, granule));
    std::size_t const fits = (std::min)(wished, room(l)) / granule * granule;
    if (fits != 0 && fits >= wished / 2) {  // no slivers
      return fits;
    }
    return bytes != 0 && l.used <= static_cast<std::int64_t>(most_owed(window_)) ? (std::max)(fits, granule) : 0;
  }

  /// Keeps bytes [from, until) of what the parts say one after the other.
  void keep(std::span<iovec const> parts, std::size_t from, std::size_t until) {
    std::size_t at = 0;
    for (iovec const& p : parts) {
      std::size_t const first = (std::max)(from, at);
      std::size_t const last = (std::min)(until, at + p.iov_len);
      if (first < last) {
        auto const* data = static_cast<std::byte const*>(p.iov_base);
        rest_.insert(rest_.end(), data + (first - at), data + (last - at));
      }
      at += p.iov_len;
    }
  }

  [[nodiscard]] std::size_t write(int fd, std::span<iovec const> parts, std::size_t bytes) noexcept {
    constexpr int how = MSG_DONTWAIT | MSG_NOSIGNAL;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    std::byte together[worth_gathering];
    bool const is_short = bytes < sizeof together;
    if (is_short) {
      std::byte* end = together;
      for (iovec const& p : parts) {
        auto const* data = static_cast<std::byte const*>(p.iov_base);
        end = std::copy(data, data + p.iov_len, end);
      }
    }
    for (;;) {
      ssize_t const put = broken_ ? 0 : is_short ? ::send(fd, together, bytes, how) : ::sendmsg(fd, &message, how);
      if (put < 0 && errno == EINTR) {
        continue;
      }
      broken_ = broken_ || (put < 0 && errno != EAGAIN && errno != ENOBUFS);
      std::size_t const done = put < 0 ? 0 : static_cast<std::size_t>(put);
      blocked_ = done != bytes;
      return done;
    }
  }

  std::size_t piece_;
  std::size_t window_;
  std::size_t most_owed_;
  std::uint32_t owed_[lane_count] = {};
  lane lanes_[lane_count];
  std::uint32_t owner_ = no_lane;  ///< the lane whose piece is on the wire
  std::size_t part_ = 0;           ///< its length
  std::size_t left_ = 0;           ///< bytes of it that have not been accepted
  std::vector<std::byte> rest_;
  std::size_t done_ = 0;  ///< bytes of the rest that have been written
  std::vector<std::byte> deferred_;
  bool blocked_ = false;
  bool broken_ = false;
  bool said_bye_ = false;
};

}  // namespace tutti::detail::tcp
