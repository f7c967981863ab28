// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/tcp/agreement.hpp>
#include <tutti/detail/tcp/fragment.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/receive_buffer.hpp>
#include <tutti/detail/tcp/standing.hpp>
#include <tutti/extend/error.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// The receiving half of a connection: takes the frames apart and hands the messages out.
///
/// A piece that is waited for is read straight to its place, or through the receive buffer if it is to be combined.
/// One that is not waited for yet is put into a fragment, as MPI puts an unexpected message into a queue, so that it
/// does not stand in the way of other lanes; the window bounds what can pile up. What exceeds it stays in the
/// connection until its reader comes: a granule that is larger, or a long message that is waited for, whose sender gets
/// credit for all of it.
class frame_reader {
 public:
  /// `window`: how much is kept of each lane.
  frame_reader(rank_type me, rank_type peer, fragment_pool& pool, std::size_t window)
      : calls(me, peer), pool_(pool), window_(window) {}
  frame_reader(frame_reader const&) = delete;
  frame_reader& operator=(frame_reader const&) = delete;
  ~frame_reader() {
    for (lane& l : lanes_) {
      pool_.give(l.unexpected);
    }
  }

  agreement calls;
  standing waits;

  /// What the connection has brought besides messages.
  [[nodiscard]] bool ended() const noexcept { return ended_; }  ///< no more bytes will come
  [[nodiscard]] bool bye() const noexcept { return bye_; }      ///< the peer left in order
  /// The fault because of which it left; none if there is none.
  [[nodiscard]] tutti::fault const& reason() const noexcept { return reason_; }
  [[nodiscard]] bool unsound() const noexcept { return unsound_; }  ///< it sent what no peer would
  [[nodiscard]] tutti::fault revoked() const noexcept { return revoked_; }
  /// The next message of a lane is here, all of it, though none has been asked for.
  [[nodiscard]] bool keeps(std::uint32_t on) const noexcept {
    fragment const* const p = lanes_[on].unexpected.first;
    return p != nullptr && p->filled == p->head.bytes;
  }
  /// A message is waited for and will be asked for again.
  [[nodiscard]] bool awaited() const noexcept { return awaited_ != 0; }

  /// The next part of a message. @see transport
  /// @throws error (failure::mismatch) if the peer sends another message than the one that is wanted
  [[nodiscard]] chunk view(int fd, frame_writer& out, flow s, wanted const& w, call const& mine) {
    lane& l = lanes_[s.lane];
    if (l.held) {
      return l.held;
    }
    if (!l.open) {
      l.open = true;
      l.total = w.bytes;
      l.taken = 0;
      ++awaited_;
      promise(l, s.lane, out);
    }
    bool const placing = w.place != nullptr && w.bytes >= worth_placing;
    do {
      if (l.unexpected.first != nullptr) {
        fragment& p = *l.unexpected.first;
        examine(l, p.head, s, mine);
        if (chunk const c = from_fragment(l, p, w)) {
          return c;
        }
      } else if (body_.live() && body_.head.lane == s.lane) {
        examine(l, body_.head, s, mine);
        if (chunk const c = from_buffer(fd, l, w)) {
          return c;
        }
      }
    } while (pump(fd, out, s.lane, placing));
    return {};
  }

  /// The reader is done with the chunk that it was given.
  void release(frame_writer& out, flow s) {
    lane& l = lanes_[s.lane];
    std::size_t const bytes = l.held.bytes;
    l.held = {};
    l.taken += bytes;
    if (l.pinned != nullptr) {
      receive_buffer::unpin(std::exchange(l.pinned, nullptr));
    } else if (l.from_fragment) {
      fragment& p = *l.unexpected.first;
      p.taken += bytes;
      if (p.taken == p.size) {
        pay(p.head, out);
        pool_.give(l.unexpected.pop());
      }
      l.from_fragment = false;
    }
    if (body_.active && body_.left == 0) {
      swallow(out);
    }
    if (l.taken == l.total) {
      --awaited_;
      l.open = l.checked = false;
    }
  }

  /// Reads once and takes apart what there is; true if that brought something. `wanted_lane`: the
  /// lane whose message is left in place for its reader. `placing`: that has a better place than the receive buffer.
  bool pump(int fd, frame_writer& out, std::uint32_t wanted_lane = lane_count, bool placing = false) {
    bool const progress = parse(out, wanted_lane);
    if ((body_.live() && !digging_) || ended_ || unsound_) {
      return progress;
    }
    return read(fd, placing) ? (parse(out, wanted_lane), true) : progress;
  }

  /// Reads all that there is for what it brings besides messages. Messages that have not been taken are lost: this
  /// is for a world that is about to fail, where a message that is never read must not hide the reason behind it.
  void dig(int fd, frame_writer& out) {
    digging_ = true;
    while (pump(fd, out)) {
    }
  }

 private:
  /// A message so long is read to its place, at the cost of another system call.
  static constexpr std::size_t worth_placing = std::size_t{16} << 10;
  static constexpr std::size_t most_promised = std::size_t{1} << 30;  ///< sums of credits must fit into a frame

  struct lane {
    fragment_queue unexpected;   ///< pieces that came before their reader
    bool open = false;           ///< the reader of a message has asked for it
    bool checked = false;        ///< and it is the one that was meant
    bool from_fragment = false;  ///< the chunk that its reader has is in a fragment
    std::size_t total = 0;
    std::size_t taken = 0;
    std::size_t kept = 0;      ///< cost of the pieces that have begun to arrive and have not been taken
    std::size_t promised = 0;  ///< of what is still to be taken, the sender has got credit for this
    chunk held;                ///< what the reader has
    receive_buffer::block* pinned = nullptr;
  };

  /// The piece whose bytes are next in the stream.
  struct body {
    bool active = false;
    frame head;
    std::size_t left = 0;  ///< bytes of it that are still in the receive buffer or to be read
    std::size_t pad = 0;
    fragment* into = nullptr;  ///< where they go; null: their reader takes them

    [[nodiscard]] bool live() const noexcept { return active && into == nullptr && left != 0; }
  };

  void examine(lane& l, frame const& head, flow s, call const& mine) {
    if (!l.checked) {
      calls.examine(head, s, mine, l.total);
      l.checked = true;
    }
  }

  /// A long message that is waited for is read as it comes, so its sender gets credit for all of it now. Credit that
  /// it got on the way would come behind all that this rank sends it meanwhile, and it would wait for that.
  void promise(lane& l, std::uint32_t number, frame_writer& out) const {
    if (l.total > most_owed(window_)) {
      l.promised = (std::min)(l.total, most_promised);
      out.owe(number, l.promised);
    }
  }

  /// A piece has been taken.
  void pay(frame const& head, frame_writer& out) {
    lane& l = lanes_[head.lane];
    std::size_t const bytes = cost(head.part);
    std::size_t const before = (std::min)(bytes, l.promised);
    l.kept -= bytes;
    l.promised -= before;
    out.owe(head.lane, bytes - before);
  }

  [[nodiscard]] static std::size_t whole(std::size_t bytes, std::size_t granule) noexcept {
    return granule <= 1 ? bytes : bytes / granule * granule;
  }

  [[nodiscard]] chunk from_fragment(lane& l, fragment& p, wanted const& w) {
    std::size_t const n = whole((std::min)(p.filled - p.taken, w.bytes), w.granule);
    if (n != 0 || l.total == 0) {
      l.from_fragment = true;
      l.held = {p.data() + p.taken, n};
    }
    return l.held;
  }

  /// Hands out the piece whose bytes are next in the stream.
  [[nodiscard]] chunk from_buffer(int fd, lane& l, wanted const& w) {
    std::size_t const most = (std::min)(body_.left, w.bytes);
    std::size_t here = (std::min)(buffer_.size(), most);
    if (whole(here, w.granule) == 0) {
      if (w.place != nullptr) {
        return to_place(fd, l, w);
      }
      buffer_.prepare((std::max)(here + 1, (std::min)(body_.left, w.granule)));
      read_to_buffer(fd, false);
      here = (std::min)(buffer_.size(), most);
    }
    if (std::size_t const n = whole(here, w.granule); n != 0) {
      l.held = {buffer_.data(), n};
      l.pinned = buffer_.pin();
      buffer_.consume(n);
      body_.left -= n;
    }
    return l.held;
  }

  /// Reads to where the reader wants it. What is no whole granule at the end goes back to the receive buffer.
  [[nodiscard]] chunk to_place(int fd, lane& l, wanted const& w) {
    std::size_t const most = (std::min)(body_.left, w.bytes);
    std::size_t const here = (std::min)(buffer_.size(), most);
    std::size_t const got = receive(fd, w.place + here, most - here);
    std::size_t const n = whole(here + got, w.granule);
    if (n == 0 && got == 0) {
      return {};
    }
    if (here != 0) {
      std::memcpy(w.place, buffer_.data(), here);
      buffer_.consume(here);
    }
    buffer_.skip(got);
    if (std::size_t const rest = here + got - n; rest != 0) {
      buffer_.put_back(w.place + n, rest);
    }
    body_.left -= n;
    if (n != 0) {
      l.held = {w.place, n};
    }
    return l.held;
  }

  /// Takes the bytes in the receive buffer apart, up to a piece that is left to its reader.
  bool parse(frame_writer& out, std::uint32_t wanted_lane) {
    bool progress = false;
    while (!unsound_) {
      if (body_.active) {
        if (body_.live() && digging_) {
          std::size_t const n = (std::min)(buffer_.size(), body_.left);
          buffer_.consume(n);
          body_.left -= n;
        } else if (body_.live() && !left_to_reader(wanted_lane)) {
          put_aside();
        }
        if (body_.live()) {
          return progress;
        }
        if (!swallow(out)) {
          return progress;
        }
        progress = true;
      }
      if (buffer_.size() < sizeof(frame)) {
        return progress;
      }
      frame f;
      std::memcpy(static_cast<void*>(&f), buffer_.data(), sizeof f);
      buffer_.consume(sizeof f);
      progress = true;
      accept(f, out, wanted_lane);
    }
    return progress;
  }

  /// Whether the current piece stays where it is: it is the one that is asked for now, or its reader waits
  /// for it and will ask, and it is too long to be copied for those that come after it.
  [[nodiscard]] bool left_to_reader(std::uint32_t wanted_lane) const noexcept {
    lane const& l = lanes_[body_.head.lane];
    return l.kept > window_ || body_.head.lane == wanted_lane || (l.open && body_.left >= worth_placing);
  }

  void accept(frame const& f, frame_writer& out, std::uint32_t wanted_lane) {
    if (!f.sound() || bye_) {
      unsound_ = true;
      return;
    }
    out.credit(f);
    switch (f.kind) {
      case frame_kind::piece:
        body_ = {.active = true, .head = f, .left = f.part, .pad = padding(f.part), .into = nullptr};
        lanes_[f.lane].kept += cost(f.part);
        if (f.part == 0 || (!digging_ && !left_to_reader(wanted_lane))) {
          put_aside();
        }
        return;
      case frame_kind::credit:
        return;
      case frame_kind::revoke:
        revoked_ = revoked_ ? revoked_ : tutti::fault::unpack(f.bytes);
        return;
      case frame_kind::bye:
        bye_ = true;
        reason_ = tutti::fault::unpack(f.bytes);
        return;
      case frame_kind::inquiry:
      case frame_kind::status:
        return calls.hear(f);
      case frame_kind::question:
      case frame_kind::answer:
        return waits.hear(f);
    }
  }

  /// Gives the rest of the current piece a fragment.
  void put_aside() {
    body_.into = &pool_.take(body_.head, body_.left);
    lanes_[body_.head.lane].unexpected.push(*body_.into);
  }

  /// Moves bytes of the current piece from the buffer into its fragment, and drops the padding. True at its end.
  bool swallow(frame_writer& out) {
    if (std::size_t const n = (std::min)(buffer_.size(), body_.left); n != 0) {
      std::memcpy(body_.into->data() + body_.into->filled, buffer_.data(), n);
      buffer_.consume(n);
      body_.into->filled += n;
      body_.left -= n;
    }
    if (body_.left != 0) {
      return false;
    }
    std::size_t const n = (std::min)(buffer_.size(), body_.pad);
    buffer_.consume(n);
    body_.pad -= n;
    body_.active = body_.pad != 0;
    if (!body_.active && body_.into == nullptr) {
      pay(body_.head, out);
    }
    return !body_.active;
  }

  /// Reads once, to where the next bytes belong.
  bool read(int fd, bool placing) {
    if (body_.into != nullptr && body_.left != 0 && buffer_.size() == 0) {
      std::size_t const got = receive(fd, body_.into->data() + body_.into->filled, body_.left);
      buffer_.skip(got);
      body_.into->filled += got;
      body_.left -= got;
      return got != 0;
    }
    buffer_.prepare(buffer_.size() + sizeof(frame));
    return read_to_buffer(fd, placing);
  }

  /// Where a message with a better place is about to arrive only its header is read.
  bool read_to_buffer(int fd, bool placing) {
    std::size_t room = buffer_.room();
    if (placing) {
      std::size_t const next = body_.active ? body_.left + body_.pad + sizeof(frame) : sizeof(frame);
      room = (std::min)(room, next > buffer_.size() ? next - buffer_.size() : sizeof(frame));
    }
    std::size_t const got = receive(fd, buffer_.end(), room);
    buffer_.grow(got);
    return got != 0;
  }

  [[nodiscard]] std::size_t receive(int fd, std::byte* to, std::size_t bytes) noexcept {
    while (bytes != 0) {
      ssize_t const got = ::recv(fd, to, bytes, MSG_DONTWAIT);
      if (got > 0) {
        return static_cast<std::size_t>(got);
      }
      if (got < 0 && errno == EINTR) {
        continue;
      }
      ended_ = got == 0 || errno != EAGAIN;
      return 0;
    }
    return 0;
  }

  fragment_pool& pool_;
  std::size_t window_;
  receive_buffer buffer_;
  body body_;
  lane lanes_[lane_count];
  std::uint32_t awaited_ = 0;
  tutti::fault revoked_;
  bool ended_ = false;
  bool bye_ = false;
  tutti::fault reason_{};  ///< because of which the peer left
  bool unsound_ = false;
  bool digging_ = false;  ///< messages are not kept any more
};

}  // namespace tutti::detail::tcp
