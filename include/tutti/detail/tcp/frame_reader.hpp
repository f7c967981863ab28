// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/call_checker.hpp>
#include <tutti/detail/tcp/fragment.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/receive_buffer.hpp>
#include <tutti/detail/tcp/wait_table.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>

namespace tutti::inline v0_1_0::detail::tcp {

/// The receiving half of a connection: parses frames and hands out messages.
///
/// A piece with a waiting reader is read straight to its place, or through the receive buffer if it is to be combined.
/// An unexpected piece is copied to a fragment, so that it does not block other lanes; the window bounds these. A piece
/// stays in the stream until its reader takes it, and all lanes of the connection wait behind it, if it exceeds the
/// window, or if its message has a reader and 16 KiB or more of the piece are left.
///
/// Credit for a fragment is due when its reader has released it; for a piece in the stream, when its last byte has been
/// handed out and its padding dropped. It travels with the next piece to the peer, of any lane. If a lane has more than
/// `max_withheld_credit` due, a quarter of the window, it travels in a frame of its own, after the current piece. If a
/// message exceeds `max_withheld_credit`, credit for it (at most 1 GiB) is granted in advance, at its first `view`.
///
///     header ---> in stream ---> last byte handed out ---> padding dropped, credit returned
///                     |
///                     '--- no reader, within the window ---> fragment ---> view, release ---> credit returned
class frame_reader {
 public:
  /// `window`: bytes per lane that are buffered without a reader.
  frame_reader(rank_type me, rank_type peer, fragment_pool& pool, std::size_t window)
      : call_checks(me, peer), pool_(pool), window_(window) {}
  frame_reader(frame_reader const&) = delete;
  frame_reader& operator=(frame_reader const&) = delete;
  ~frame_reader() {
    for (lane_state& lane : lanes_) {
      pool_.recycle(lane.unexpected_queue);
    }
  }

  call_checker call_checks;
  wait_table wait_states;

  /// True if the connection delivers no more bytes.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  [[nodiscard]] bool has_said_bye() const noexcept { return has_said_bye_; }  ///< the peer left in order
  /// The fault that made the peer leave; empty if there was none.
  [[nodiscard]] tutti::fault const& leave_reason() const noexcept { return leave_reason_; }
  [[nodiscard]] bool is_malformed() const noexcept { return is_malformed_; }  ///< the peer violated the protocol
  [[nodiscard]] tutti::fault revoke_fault() const noexcept { return revoke_fault_; }
  /// True if the next message of a lane is complete in a fragment, before its reader has asked.
  [[nodiscard]] bool has_whole_message(std::uint32_t lane) const noexcept {
    fragment const* const piece = lanes_[lane].unexpected_queue.first;
    return piece != nullptr && piece->filled_bytes == piece->head.bytes;
  }
  /// True if a reader has begun a message, and will ask for the rest.
  [[nodiscard]] bool has_waiting_reader() const noexcept { return open_messages_ != 0; }

  /// Returns the next part of a message. @see transport
  /// @throws error (failure::mismatch) if the peer sends a message of another call or size
  [[nodiscard]] chunk view(wire const& source, frame_writer& writer, flow s, receive_request const& request,
                           call const& own_call) {
    lane_state& lane = lanes_[s.lane];
    if (lane.current) {
      return lane.current;
    }
    if (!lane.is_open) {
      lane.is_open = true;
      lane.total = request.bytes;
      lane.released_bytes = 0;
      ++open_messages_;
      grant_credit_ahead(lane, s.lane, writer);
    }
    bool const placing = request.place != nullptr && request.bytes >= min_placed_bytes;
    do {
      if (lane.unexpected_queue.first != nullptr) {
        fragment& piece = *lane.unexpected_queue.first;
        check_call(lane, piece.head, s, own_call);
        if (chunk const c = view_fragment(lane, piece, request)) {
          return c;
        }
      } else if (incoming_.is_unclaimed() && incoming_.head.lane == s.lane) {
        check_call(lane, incoming_.head, s, own_call);
        if (chunk const c = view_stream(source, lane, request)) {
          return c;
        }
      }
    } while (pump(source, writer, s.lane, placing));
    return {};
  }

  /// True if a message on this lane has begun to arrive. Reads what there is.
  [[nodiscard]] bool has_message(wire const& source, frame_writer& writer, std::uint32_t lane) {
    do {
      if (lanes_[lane].unexpected_queue.first != nullptr || (incoming_.is_unclaimed() && incoming_.head.lane == lane)) {
        return true;
      }
    } while (pump(source, writer, lane));
    return false;
  }

  /// Ends the reader's use of the current chunk.
  void release(frame_writer& writer, flow s) {
    lane_state& lane = lanes_[s.lane];
    std::size_t const bytes = lane.current.bytes;
    lane.current = {};
    lane.released_bytes += bytes;
    if (lane.pinned_block != nullptr) {
      receive_buffer::unpin(std::exchange(lane.pinned_block, nullptr));
    } else if (lane.in_fragment) {
      fragment& piece = *lane.unexpected_queue.first;
      piece.released_bytes += bytes;
      if (piece.released_bytes == piece.size) {
        settle_credit(piece.head, writer);
        pool_.recycle(lane.unexpected_queue.pop());
      }
      lane.in_fragment = false;
    }
    if (incoming_.is_active && incoming_.left == 0) {
      complete_piece(writer);
    }
    if (lane.released_bytes == lane.total) {
      --open_messages_;
      lane.is_open = lane.is_checked = false;
    }
  }

  /// Reads once and parses what is buffered. Returns true if that made progress. The message of `wanted_lane` stays in
  /// the stream for its reader; `placing` means that the reader has a better place than the receive buffer.
  bool pump(wire const& source, frame_writer& writer, std::uint32_t wanted_lane = lane_count, bool placing = false) {
    bool const progress = parse(writer, wanted_lane);
    if ((incoming_.is_unclaimed() && !is_draining_) || has_ended_ || is_malformed_) {
      return progress;
    }
    return read(source, placing) ? (parse(writer, wanted_lane), true) : progress;
  }

  /// Reads everything for its control frames and discards messages: for a world that is about to fail, where the fault
  /// may be behind a message that is never read.
  void drain_control_frames(wire const& source, frame_writer& writer) {
    is_draining_ = true;
    while (pump(source, writer)) {
    }
  }

 private:
  /// Pieces of at least this size are read to their place, at the cost of one more system call.
  static constexpr std::size_t min_placed_bytes = std::size_t{16} << 10;
  static constexpr std::size_t max_credit_ahead = std::size_t{1} << 30;  ///< sums of credit must fit into a frame

  struct lane_state {
    fragment_queue unexpected_queue;  ///< pieces that arrived before their reader
    bool is_open = false;             ///< a reader has begun the message
    bool is_checked = false;          ///< call and size match
    bool in_fragment = false;         ///< the current chunk is in a fragment
    std::size_t total = 0;
    std::size_t released_bytes = 0;
    std::size_t outstanding_cost = 0;  ///< window_cost of pieces that have begun to arrive, until their credit is due
    std::size_t credit_ahead = 0;      ///< the part of the cost still to come for which credit was granted
    chunk current;                     ///< the chunk that the reader has
    receive_buffer::block* pinned_block = nullptr;
  };

  /// The piece whose bytes are next in the stream.
  struct incoming_piece {
    bool is_active = false;
    frame head;
    std::size_t left = 0;  ///< bytes in the receive buffer or still to be read
    std::size_t pad = 0;
    fragment* target = nullptr;  ///< null: the reader takes the bytes

    [[nodiscard]] bool is_unclaimed() const noexcept { return is_active && target == nullptr && left != 0; }
  };

  void check_call(lane_state& lane, frame const& head, flow s, call const& own_call) {
    if (!lane.is_checked) {
      call_checks.check_message(head, s, own_call, lane.total);
      lane.is_checked = true;
    }
  }

  /// Grants credit for all of a long message when its reader asks. Credit during the message would queue behind all
  /// that this rank sends meanwhile, and stall the sender.
  void grant_credit_ahead(lane_state& lane, std::uint32_t number, frame_writer& writer) const {
    if (lane.total > max_withheld_credit(window_)) {
      std::size_t const grant = (std::min)(lane.total, max_credit_ahead);
      // Added, because the padding of the previous message, and so its credit, may still be to come.
      lane.credit_ahead += grant;
      writer.return_credit(number, grant);
    }
  }

  /// Settles the account of a released piece: returns its credit, less the credit that was granted ahead.
  void settle_credit(frame const& head, frame_writer& writer) {
    lane_state& lane = lanes_[head.lane];
    std::size_t const bytes = window_cost(head.part);
    std::size_t const repaid = (std::min)(bytes, lane.credit_ahead);
    lane.outstanding_cost -= bytes;
    lane.credit_ahead -= repaid;
    writer.return_credit(head.lane, bytes - repaid);
  }

  [[nodiscard]] static std::size_t whole_granules(std::size_t bytes, std::size_t granule) noexcept {
    return granule <= 1 ? bytes : bytes / granule * granule;
  }

  [[nodiscard]] chunk view_fragment(lane_state& lane, fragment& piece, receive_request const& request) {
    std::size_t const n =
        whole_granules((std::min)(piece.filled_bytes - piece.released_bytes, request.bytes), request.granule);
    if (n != 0 || lane.total == 0) {
      lane.in_fragment = true;
      lane.current = {piece.data() + piece.released_bytes, n};
    }
    return lane.current;
  }

  /// Shows the piece whose bytes are next in the stream.
  [[nodiscard]] chunk view_stream(wire const& source, lane_state& lane, receive_request const& request) {
    std::size_t const limit = (std::min)(incoming_.left, request.bytes);
    std::size_t buffered_bytes = (std::min)(buffer_.size(), limit);
    if (whole_granules(buffered_bytes, request.granule) == 0) {
      if (request.place != nullptr) {
        return read_to_place(source, lane, request);
      }
      buffer_.prepare((std::max)(buffered_bytes + 1, (std::min)(incoming_.left, request.granule)));
      read_to_buffer(source, false);
      buffered_bytes = (std::min)(buffer_.size(), limit);
    }
    if (std::size_t const n = whole_granules(buffered_bytes, request.granule); n != 0) {
      lane.current = {buffer_.data(), n};
      lane.pinned_block = buffer_.pin();
      buffer_.consume(n);
      incoming_.left -= n;
    }
    return lane.current;
  }

  /// Reads to the reader's place. An incomplete granule at the end goes back to the receive buffer.
  [[nodiscard]] chunk read_to_place(wire const& source, lane_state& lane, receive_request const& request) {
    std::size_t const limit = (std::min)(incoming_.left, request.bytes);
    std::size_t const buffered_bytes = (std::min)(buffer_.size(), limit);
    std::size_t const received_bytes = receive(source, request.place + buffered_bytes, limit - buffered_bytes);
    std::size_t const n = whole_granules(buffered_bytes + received_bytes, request.granule);
    if (n == 0 && received_bytes == 0) {
      return {};
    }
    if (buffered_bytes != 0) {
      std::memcpy(request.place, buffer_.data(), buffered_bytes);
      buffer_.consume(buffered_bytes);
    }
    buffer_.skip(received_bytes);
    if (std::size_t const remainder = buffered_bytes + received_bytes - n; remainder != 0) {
      buffer_.put_back(request.place + n, remainder);
    }
    incoming_.left -= n;
    if (n != 0) {
      lane.current = {request.place, n};
    }
    return lane.current;
  }

  /// Parses the receive buffer, up to a piece that is left for its reader.
  bool parse(frame_writer& writer, std::uint32_t wanted_lane) {
    bool progress = false;
    while (!is_malformed_) {
      if (incoming_.is_active) {
        if (incoming_.is_unclaimed() && is_draining_) {
          std::size_t const n = (std::min)(buffer_.size(), incoming_.left);
          buffer_.consume(n);
          incoming_.left -= n;
        } else if (incoming_.is_unclaimed() && !stays_in_stream(wanted_lane)) {
          buffer_unexpected();
        }
        if (incoming_.is_unclaimed()) {
          return progress;
        }
        if (!complete_piece(writer)) {
          return progress;
        }
        progress = true;
      }
      if (buffer_.size() < sizeof(frame)) {
        return progress;
      }
      frame header;
      std::memcpy(static_cast<void*>(&header), buffer_.data(), sizeof header);
      buffer_.consume(sizeof header);
      progress = true;
      process(header, writer, wanted_lane);
    }
    return progress;
  }

  /// True if the current piece is left for its reader: because the reader asks now, or has begun the message and the
  /// piece is too long to copy, or because the window is exceeded.
  [[nodiscard]] bool stays_in_stream(std::uint32_t wanted_lane) const noexcept {
    lane_state const& lane = lanes_[incoming_.head.lane];
    return lane.outstanding_cost > window_ || incoming_.head.lane == wanted_lane ||
           (lane.is_open && incoming_.left >= min_placed_bytes);
  }

  void process(frame const& header, frame_writer& writer, std::uint32_t wanted_lane) {
    if (!header.is_valid() || has_said_bye_) {
      is_malformed_ = true;
      return;
    }
    writer.add_credit(header);
    switch (header.kind) {
      case frame_kind::piece:
        incoming_ = {
            .is_active = true, .head = header, .left = header.part, .pad = padding(header.part), .target = nullptr};
        lanes_[header.lane].outstanding_cost += window_cost(header.part);
        if (header.part == 0) {
          take_empty(lanes_[header.lane]);
        } else if (!is_draining_ && !stays_in_stream(wanted_lane)) {
          buffer_unexpected();
        }
        return;
      case frame_kind::credit:
        return;
      case frame_kind::revoke:
        revoke_fault_ = revoke_fault_ ? revoke_fault_ : header.get_fault();
        return;
      case frame_kind::bye:
        has_said_bye_ = true;
        leave_reason_ = header.get_fault();
        return;
      case frame_kind::call_query:
      case frame_kind::call_reply:
        return call_checks.receive(header);
      case frame_kind::wait_query:
      case frame_kind::wait_reply:
        return wait_states.receive(header);
    }
  }

  /// Buffers a message of no bytes, which has nothing that could stay in the stream. A peer that keeps to the window
  /// sends none beyond it.
  void take_empty(lane_state const& lane) {
    if (lane.outstanding_cost > window_ + lane.credit_ahead) [[unlikely]] {
      is_malformed_ = true;
      incoming_ = {};
    } else {
      buffer_unexpected();
    }
  }

  /// Assigns a fragment to the rest of the current piece.
  void buffer_unexpected() {
    incoming_.target = &pool_.take(incoming_.head, incoming_.left);
    lanes_[incoming_.head.lane].unexpected_queue.push(*incoming_.target);
  }

  /// Moves bytes of the current piece from the buffer to its fragment, and drops the padding. Returns true at its end.
  bool complete_piece(frame_writer& writer) {
    if (std::size_t const n = (std::min)(buffer_.size(), incoming_.left); n != 0) {
      std::memcpy(incoming_.target->data() + incoming_.target->filled_bytes, buffer_.data(), n);
      buffer_.consume(n);
      incoming_.target->filled_bytes += n;
      incoming_.left -= n;
    }
    if (incoming_.left != 0) {
      return false;
    }
    std::size_t const n = (std::min)(buffer_.size(), incoming_.pad);
    buffer_.consume(n);
    incoming_.pad -= n;
    incoming_.is_active = incoming_.pad != 0;
    if (!incoming_.is_active && incoming_.target == nullptr) {
      settle_credit(incoming_.head, writer);
    }
    return !incoming_.is_active;
  }

  /// Reads once, to where the next bytes belong.
  bool read(wire const& source, bool placing) {
    if (incoming_.target != nullptr && incoming_.left != 0 && buffer_.size() == 0) {
      std::size_t const received_bytes =
          receive(source, incoming_.target->data() + incoming_.target->filled_bytes, incoming_.left);
      buffer_.skip(received_bytes);
      incoming_.target->filled_bytes += received_bytes;
      incoming_.left -= received_bytes;
      return received_bytes != 0;
    }
    buffer_.prepare(buffer_.size() + sizeof(frame));
    return read_to_buffer(source, placing);
  }

  /// Reads to the receive buffer; only a header if the message behind it has a better place.
  bool read_to_buffer(wire const& source, bool placing) {
    std::size_t free_bytes = buffer_.free_bytes();
    if (placing) {
      std::size_t const next = incoming_.is_active ? incoming_.left + incoming_.pad + sizeof(frame) : sizeof(frame);
      free_bytes = (std::min)(free_bytes, next > buffer_.size() ? next - buffer_.size() : sizeof(frame));
    }
    std::size_t const received_bytes = receive(source, buffer_.end(), free_bytes);
    buffer_.commit(received_bytes);
    return received_bytes != 0;
  }

  [[nodiscard]] std::size_t receive(wire const& source, std::byte* target, std::size_t bytes) noexcept {
    while (bytes != 0) {
      ssize_t const received_bytes = source.read(target, bytes);
      if (received_bytes > 0) {
        return static_cast<std::size_t>(received_bytes);
      }
      if (received_bytes < 0 && errno == EINTR) {
        continue;
      }
      has_ended_ = received_bytes == 0 || errno != EAGAIN;
      if (has_ended_) [[unlikely]] {
        is_malformed_ = is_malformed_ || (received_bytes < 0 && errno == EBADMSG);
        has_said_bye_ = has_said_bye_ || !source.is_open();  // nothing was accepted, so nothing is lost
      }
      return 0;
    }
    return 0;
  }

  fragment_pool& pool_;
  std::size_t window_;
  receive_buffer buffer_;
  incoming_piece incoming_;
  lane_state lanes_[lane_count];
  std::uint32_t open_messages_ = 0;
  tutti::fault revoke_fault_;
  bool has_ended_ = false;
  bool has_said_bye_ = false;
  tutti::fault leave_reason_{};  ///< the fault that made the peer leave
  bool is_malformed_ = false;
  bool is_draining_ = false;  ///< messages are discarded
};

}  // namespace tutti::detail::tcp
