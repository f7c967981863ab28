// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/proof.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The kind of a frame. The numbers are part of the protocol.
enum class bootstrap_frame_kind : std::uint32_t {
  invalid,
  hello,      ///< a member presents itself
  welcome,    ///< all members have joined
  text,       ///< one member's part of an exchange
  table,      ///< the parts of all members
  result,     ///< the return value of a rank
  failure,    ///< the reason why a rank or the world has failed
  refusal,    ///< the hello does not fit; the reason is not sent to strangers
  claim,      ///< a member proves that it knows the secret
  challenge,  ///< the host proves so, too
};

/// The first bytes of a frame.
inline constexpr std::string_view frame_magic = "tut1";

/// A frame of the bootstrap protocol: 16 bytes that say magic number, kind and length, then the payload, then on a
/// sealed channel a tag of 16 bytes. All numbers are little-endian.
struct bootstrap_frame {
  bootstrap_frame_kind kind = bootstrap_frame_kind::invalid;
  std::string payload;
};

/// A connection that carries frames. Non-blocking: `fill` and `flush` move as much as is possible at once. The peer is
/// not trusted: foreign bytes are noticed at the first byte that differs, and a frame that is too long before any of
/// it is stored.
class channel {
 public:
  channel() noexcept = default;
  explicit channel(descriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  void close() noexcept { socket_.reset(); }

  /// Seals the channel: all further frames, in both directions, carry a tag. A tag covers the frame and the number of
  /// frames before it, so no frame can be changed, left out or repeated.
  void seal(net::proof_key const& receive_key, net::proof_key const& send_key) noexcept {
    receive_key_ = receive_key;
    send_key_ = send_key;
  }

  void queue(bootstrap_frame_kind kind, std::string_view payload);
  [[nodiscard]] bool is_flushed() const noexcept { return written_bytes_ == output_.size(); }

  /// Writes as much as fits. Returns false if the connection is closed.
  bool flush() noexcept;

  /// Reads available bytes. Returns `complete` after `limit` bytes, as there may be more, `open` if it read everything,
  /// and `hangup` if nothing more will come; `next` still returns frames that were read before.
  io fill(std::size_t limit = 1U << 16U);

  /// The number of bytes that were read and that no frame has taken.
  [[nodiscard]] std::size_t unread() const noexcept { return input_.size(); }

  /// The result of `next`. A frame with a wrong tag is foreign.
  enum class parse_result { incomplete, frame, foreign, too_long };

  /// Takes the next frame out of the bytes that were read, if it is complete.
  parse_result next(bootstrap_frame& frame, std::uint64_t limit);

  /// Writes all queued frames. Returns `complete`, `hangup` or `late`.
  io send(time_point deadline);

  /// Waits for a frame. Returns `complete`, `hangup` or `late`; foreign bytes count as `hangup`.
  io receive(bootstrap_frame& frame, std::uint64_t limit, time_point deadline);

 private:
  descriptor socket_;
  std::string input_;
  std::string output_;
  std::size_t written_bytes_ = 0;
  net::proof_key receive_key_;
  net::proof_key send_key_;
  std::uint64_t receive_count_ = 0;  ///< sealed frames
  std::uint64_t send_count_ = 0;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/channel.ipp>
#endif
