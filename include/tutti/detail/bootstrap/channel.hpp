// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::detail {

/// What a frame means. The same numbers in every program that meets at one place.
enum class bootstrap_frame_kind : std::uint32_t {
  none,
  hello,    ///< a member presents itself
  welcome,  ///< all members have come
  text,     ///< one member's part of an exchange
  table,    ///< everybody's parts
  result,   ///< what a rank returned
  failure,  ///< why it will not come to a good end
  refusal,  ///< the hello does not fit; why is for insiders
};

/// A frame of the bootstrap protocol: 16 bytes that say magic number, kind and length, then the
/// payload. All numbers are little-endian.
struct frame {
  bootstrap_frame_kind kind = bootstrap_frame_kind::none;
  std::string payload;
};

/// A connection that carries frames, non-blocking at heart: fill and flush move what can be moved.
/// It does not trust the other end: foreign bytes are found at the first one that differs, a frame
/// too long before any of it is stored.
template <class Socket>
class basic_channel {
 public:
  basic_channel() noexcept = default;
  explicit basic_channel(Socket socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  void close() noexcept { socket_.reset(); }

  void queue(bootstrap_frame_kind kind, std::string_view payload) {
    out_.erase(0, std::exchange(written_, 0));
    std::string head(magic);
    put(head, static_cast<std::uint32_t>(kind), 4);
    put(head, payload.size(), 8);
    out_.append(head).append(payload);
  }
  [[nodiscard]] bool flushed() const noexcept { return written_ == out_.size(); }

  /// Writes what fits. False: the connection is closed.
  bool flush() noexcept {
    moved const m = write_some(socket_.get(), bytes_of(std::string_view(out_).substr(written_)));
    written_ += m.bytes;
    return m.state != io::closed;
  }

  /// Reads what is there: `done` if that was `at_most` bytes and there may be more, `open` if it was
  /// all. `closed`: nothing more will come, but what came can still be taken with `next`.
  io fill(std::size_t at_most = 1U << 16U) {
    std::size_t const before = in_.size();
    in_.resize(before + at_most);
    moved const m = read_some(socket_.get(), {reinterpret_cast<std::byte*>(in_.data()) + before, at_most});
    in_.resize(before + m.bytes);
    return m.state;
  }

  /// How much was read that no frame has taken.
  [[nodiscard]] std::size_t unread() const noexcept { return in_.size(); }

  /// What `next` found.
  enum class found { nothing, frame, foreign, too_long };

  /// Takes the next frame out of what was read, if it is complete.
  found next(frame& to, std::uint64_t limit) {
    std::string_view const in = in_;
    if (std::size_t const n = in.size() < magic.size() ? in.size() : magic.size();
        in.substr(0, n) != magic.substr(0, n)) {
      return found::foreign;
    }
    if (in.size() < header) {
      return found::nothing;
    }
    std::uint64_t const kind = get(in.substr(4, 4));
    std::uint64_t const length = get(in.substr(8, 8));
    if (kind == 0 || kind > static_cast<std::uint64_t>(bootstrap_frame_kind::refusal)) {
      return found::foreign;
    }
    if (length > limit) {
      return found::too_long;
    }
    if (in.size() - header < length) {
      return found::nothing;
    }
    to.kind = static_cast<bootstrap_frame_kind>(kind);
    to.payload = in.substr(header, static_cast<std::size_t>(length));
    in_.erase(0, header + to.payload.size());
    return found::frame;
  }

  /// Writes everything that is queued: `done`, `closed` or `late`.
  io send(time_point deadline) {
    io const state = write_all(socket_.get(), bytes_of(std::string_view(out_).substr(written_)), deadline);
    written_ = 0;
    out_ = {};
    return state;
  }

  /// Waits for a frame: `done`, `closed` or `late`. Foreign bytes count as `closed`.
  io receive(frame& to, std::uint64_t limit, time_point deadline) {
    for (io got = io::open;;) {
      found const f = next(to, limit);
      if (f == found::frame) {
        return io::done;
      }
      if (f != found::nothing || got == io::closed) {
        return io::closed;
      }
      if (!wait_ready(socket_.get(), POLLIN, deadline)) {
        return io::late;
      }
      got = fill();
    }
  }

 private:
  static constexpr std::string_view magic = "tut1";
  static constexpr std::size_t header = 16;

  static void put(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      to += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
  }
  [[nodiscard]] static std::uint64_t get(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
  }

  Socket socket_;
  std::string in_;
  std::string out_;
  std::size_t written_ = 0;
};

using channel = basic_channel<descriptor>;

}  // namespace tutti::detail
