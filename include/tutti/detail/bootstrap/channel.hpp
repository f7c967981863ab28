// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// What a frame means. The same numbers in every program that meets at one place.
enum class bootstrap_frame_kind : std::uint32_t {
  none,
  hello,    ///< a member presents itself
  welcome,  ///< all members have come
  text,     ///< one member's part of an exchange
  table,    ///< the parts of all
  result,   ///< what a rank returned
  failure,  ///< why it will not come to a good end
  refusal,  ///< the hello does not fit; why is for insiders
};

/// A frame of the bootstrap protocol: 16 bytes that say magic number, kind and length, then the
/// payload. All numbers are little-endian.
struct bootstrap_frame {
  bootstrap_frame_kind kind = bootstrap_frame_kind::none;
  std::string payload;
};

/// A connection that carries frames, non-blocking at heart: fill and flush move what can be moved.
/// It does not trust the other end: foreign bytes are found at the first one that differs, a frame
/// too long before any of it is stored.
class channel {
 public:
  channel() noexcept = default;
  explicit channel(descriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  void close() noexcept { socket_.reset(); }

  void queue(bootstrap_frame_kind kind, std::string_view payload);
  [[nodiscard]] bool flushed() const noexcept { return written_ == out_.size(); }

  /// Writes what fits. False: the connection is closed.
  bool flush() noexcept;

  /// Reads what is there: `done` if that was `at_most` bytes and there may be more, `open` if it was
  /// all. `closed`: nothing more will come, but what came can still be taken with `next`.
  io fill(std::size_t at_most = 1U << 16U);

  /// How much was read that no frame has taken.
  [[nodiscard]] std::size_t unread() const noexcept { return in_.size(); }

  /// What `next` found.
  enum class found { nothing, frame, foreign, too_long };

  /// Takes the next frame out of what was read, if it is complete.
  found next(bootstrap_frame& to, std::uint64_t limit);

  /// Writes everything that is queued: `done`, `closed` or `late`.
  io send(time_point deadline);

  /// Waits for a frame: `done`, `closed` or `late`. Foreign bytes count as `closed`.
  io receive(bootstrap_frame& to, std::uint64_t limit, time_point deadline);

 private:
  descriptor socket_;
  std::string in_;
  std::string out_;
  std::size_t written_ = 0;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/channel.ipp>
#endif
