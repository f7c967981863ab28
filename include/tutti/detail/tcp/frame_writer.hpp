// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/expects.hpp>

#include <cerrno>
#include <sys/uio.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The sending half of a connection. Writes messages straight from the user's memory, as far as the system takes them.
///
/// Messages travel in pieces. A piece starts when the lane's window has room for it, whether a receiver waits or not;
/// until it is complete, other lanes and control frames wait.
///
///     between pieces  -- offer: the window has room -->  mid piece: control frames are deferred
///                     <-- offer: last byte accepted ---
///
/// The stash holds what is accepted but not written: control frames, and the end of a granule that the system split.
class frame_writer {
 public:
  /// `peer_window`, `own_window`: bytes per lane that the peer and this rank buffer.
  frame_writer(std::size_t max_piece, std::size_t peer_window, std::size_t own_window)
      : max_piece_((std::min)((std::min)(max_piece, peer_window / 2), std::size_t{1} << 31)),
        window_(peer_window),
        credit_threshold_(max_withheld_credit(own_window)) {
    stash_.reserve(4096);
    deferred_control_.reserve(4096);
  }

  /// Offers the rest of a message. @see transport
  [[nodiscard]] send_result offer(wire const& target, flow s, std::span<std::byte const> bytes, std::size_t granule,
                                  call const& own_call) {
    lane_state& lane = lanes_[s.lane];
    bool const starts_piece = piece_lane_ == no_lane;
    lane.awaits_credit = false;
    if (!flush(target) || (!starts_piece && piece_lane_ != s.lane)) {
      return {};
    }
    if (starts_piece) {
      piece_size_ = sendable(lane, bytes.size(), granule);
      lane.awaits_credit = bytes.empty() ? free_window(lane) == 0 : piece_size_ == 0;
      if (lane.awaits_credit) {
        return {};
      }
      lane.total = lane.sent_bytes == 0 ? bytes.size() : lane.total;
      piece_left_ = piece_size_;
    }
    frame head{.kind = frame_kind::piece,
               .lane = static_cast<std::uint8_t>(s.lane),
               .number = s.number,
               .part = static_cast<std::uint32_t>(piece_size_),
               .bytes = lane.total,
               .sender_call = own_call};
    std::copy(due_credit_, due_credit_ + lane_count, head.credits);
    std::size_t const header_bytes = starts_piece ? sizeof head : 0;
    std::size_t const padding_bytes = padding(piece_size_);
    iovec const parts[] = {to_iovec(&head, header_bytes), to_iovec(bytes.data(), piece_left_),
                           to_iovec(zeros, padding_bytes)};
    std::size_t const written_bytes = write(target, parts, header_bytes + piece_left_ + padding_bytes);
    if (written_bytes == 0) {
      return {};
    }
    if (starts_piece) {
      piece_lane_ = s.lane;
      lane.window_used += static_cast<std::int64_t>(window_cost(piece_size_));
      std::fill_n(due_credit_, lane_count, 0U);
    }
    std::size_t const payload_written = written_bytes <= header_bytes ? 0 : written_bytes - header_bytes;
    std::size_t const accepted_bytes = (std::min)((payload_written + granule - 1) / granule * granule, piece_left_);
    bool const ends_piece = accepted_bytes == piece_left_;
    stash(parts, written_bytes, header_bytes + accepted_bytes + (ends_piece ? padding_bytes : 0));
    piece_left_ -= accepted_bytes;
    lane.sent_bytes += accepted_bytes;
    if (ends_piece) {
      piece_lane_ = no_lane;
      lane.sent_bytes = lane.sent_bytes == lane.total ? 0 : lane.sent_bytes;
    }
    return {ends_piece || accepted_bytes != 0, accepted_bytes, 0};
  }

  /// Queues a frame without payload, for after the current piece. Drops everything after a bye: a rank that leaves
  /// answers no queries.
  void queue_control_frame(frame const& control) {
    if (has_queued_bye_) {
      return;
    }
    has_queued_bye_ = control.kind == frame_kind::bye;
    auto& queue = piece_lane_ == no_lane && deferred_control_.empty() ? stash_ : deferred_control_;
    auto const bytes = bytes_of(control);
    queue.insert(queue.end(), bytes.begin(), bytes.end());
  }

  /// Writes the stash. Returns true if nothing is left that must precede the next payload.
  bool flush(wire const& target) {
    if (!target.flush()) [[unlikely]] {
      is_blocked_ = true;
      return false;
    }
    if (piece_lane_ == no_lane && !deferred_control_.empty()) {
      stash_.insert(stash_.end(), deferred_control_.begin(), deferred_control_.end());
      deferred_control_.clear();
    }
    if (stash_written_ != stash_.size()) {
      iovec const rest = to_iovec(stash_.data() + stash_written_, stash_.size() - stash_written_);
      stash_written_ += write(target, {&rest, 1}, rest.iov_len);
      if (stash_written_ != stash_.size()) {
        return false;
      }
    }
    stash_.clear();
    stash_written_ = 0;
    return true;
  }

  /// Enlarges the windows by the credit in a frame.
  void add_credit(frame const& control) noexcept {
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      lanes_[lane].window_used -= control.credits[lane];
    }
  }
  /// Returns credit that is due to the peer: with the next piece, or by a credit frame at once if a lane has
  /// more than `max_withheld_credit`.
  void return_credit(std::uint32_t lane, std::size_t bytes) {
    due_credit_[lane] += static_cast<std::uint32_t>(bytes);
    if (due_credit_[lane] > credit_threshold_) {
      frame report{.kind = frame_kind::credit};
      std::copy(due_credit_, due_credit_ + lane_count, report.credits);
      std::fill_n(due_credit_, lane_count, 0U);
      queue_control_frame(report);
    }
  }

  /// True if the lane waits for credit.
  [[nodiscard]] bool awaits_credit(std::uint32_t lane) const noexcept { return lanes_[lane].awaits_credit; }
  /// True if part of a piece is written and the rest not yet accepted: nothing else can be sent.
  [[nodiscard]] bool is_mid_piece() const noexcept { return piece_lane_ != no_lane; }
  [[nodiscard]] bool is_empty() const noexcept { return stash_.empty() && deferred_control_.empty(); }
  /// True if the system took less than it was given the last time.
  [[nodiscard]] bool is_blocked() const noexcept { return is_blocked_; }
  /// True if writing failed: the peer reads no more.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

 private:
  static constexpr std::uint32_t no_lane = lane_count;
  static constexpr std::byte zeros[frame_alignment] = {};
  /// Shorter writes are gathered into one buffer first: several parts cost the system more than the copy.
  static constexpr std::size_t gather_below = 2048;

  struct lane_state {
    std::size_t total = 0;         ///< bytes of the message that is offered
    std::size_t sent_bytes = 0;    ///< bytes of the message that were accepted
    std::int64_t window_used = 0;  ///< negative: credit was granted ahead of sending
    bool awaits_credit = false;
  };

  [[nodiscard]] static iovec to_iovec(void const* data, std::size_t bytes) noexcept {
    return {const_cast<void*>(data), bytes};
  }

  /// Returns the bytes of payload that a lane's window has room for.
  [[nodiscard]] std::size_t free_window(lane_state const& lane) const noexcept {
    auto const free_bytes = static_cast<std::int64_t>(window_) - lane.window_used;
    return free_bytes < static_cast<std::int64_t>(window_cost(0))
               ? 0
               : static_cast<std::size_t>(free_bytes) / frame_alignment * frame_alignment;
  }

  /// Returns the bytes of a message that may be sent now, in whole granules. A granule larger than the free window
  /// could wait forever, so it is sent once no more than `max_withheld_credit` is outstanding.
  [[nodiscard]] std::size_t sendable(lane_state const& lane, std::size_t bytes, std::size_t granule) const noexcept {
    std::size_t const wanted_bytes = (std::min)(bytes, (std::max)(max_piece_, granule));
    std::size_t const fitting = (std::min)(wanted_bytes, free_window(lane)) / granule * granule;
    if (fitting != 0 && fitting >= wanted_bytes / 2) {  // no slivers
      return fitting;
    }
    return bytes != 0 && lane.window_used <= static_cast<std::int64_t>(max_withheld_credit(window_))
               ? (std::max)(fitting, granule)
               : 0;
  }

  /// Copies bytes [begin, end) of the concatenated parts to the stash.
  void stash(std::span<iovec const> parts, std::size_t begin, std::size_t end) {
    std::size_t offset = 0;
    for (iovec const& p : parts) {
      std::size_t const first = (std::max)(begin, offset);
      std::size_t const last = (std::min)(end, offset + p.iov_len);
      if (first < last) {
        auto const* data = static_cast<std::byte const*>(p.iov_base);
        stash_.insert(stash_.end(), data + (first - offset), data + (last - offset));
      }
      offset += p.iov_len;
    }
  }

  [[nodiscard]] std::size_t write(wire const& target, std::span<iovec const> parts, std::size_t bytes) noexcept {
    std::byte gather_buffer[gather_below];
    iovec const gathered_part{gather_buffer, bytes};
    if (bytes < sizeof gather_buffer) {
      std::byte* next = gather_buffer;
      for (iovec const& p : parts) {
        auto const* data = static_cast<std::byte const*>(p.iov_base);
        next = std::copy(data, data + p.iov_len, next);
      }
      parts = {&gathered_part, 1};
    }
    for (;;) {
      ssize_t const result = is_broken_ ? 0 : target.write(parts);
      if (result < 0 && errno == EINTR) {
        continue;
      }
      is_broken_ = is_broken_ || (result < 0 && errno != EAGAIN && errno != ENOBUFS);
      std::size_t const written_bytes = result < 0 ? 0 : static_cast<std::size_t>(result);
      is_blocked_ = written_bytes != bytes;
      return written_bytes;
    }
  }

  std::size_t max_piece_;
  std::size_t window_;
  std::size_t credit_threshold_;
  std::uint32_t due_credit_[lane_count] = {};
  lane_state lanes_[lane_count];
  std::uint32_t piece_lane_ = no_lane;  ///< the lane of the current piece
  std::size_t piece_size_ = 0;          ///< bytes of the current piece
  std::size_t piece_left_ = 0;          ///< bytes of the current piece that were not accepted yet
  std::vector<std::byte> stash_;
  std::size_t stash_written_ = 0;  ///< bytes of the stash that were written
  std::vector<std::byte> deferred_control_;
  bool is_blocked_ = false;
  bool is_broken_ = false;
  bool has_queued_bye_ = false;
};

}  // namespace tutti::detail::tcp
