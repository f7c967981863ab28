// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// Functions of a library of encryption, on which the core does not depend. `<tutti/secure.hpp>` registers those of
/// OpenSSL when the program starts. A stream encrypts the bytes of one connection, and never waits. It begins with a
/// handshake, which both reading and writing advance.
struct stream_calls {
  /// Loads the library.
  /// @throws error(failure::join) if the system refuses it
  void (*load)();
  /// Begins a stream over a non-blocking socket. Returns its state.
  /// @throws error(failure::join) if the library refuses it
  void* (*open)(int fd, bool is_client, proof_key const& key);
  /// Writes as sendmsg does. Bytes that were taken are never refused later: at most one record of them is kept back.
  ssize_t (*write)(void* state, std::span<iovec const> parts) noexcept;
  /// Reads as recv does, but as many bytes as there are. EBADMSG: somebody has changed the bytes.
  ssize_t (*read)(void* state, std::byte* target, std::size_t bytes) noexcept;
  /// Writes what was kept back. Returns true if nothing is left.
  bool (*flush)(void* state) noexcept;
  /// True if something is kept back, until the socket is writable.
  bool (*has_output)(void const* state) noexcept;
  /// True if there may be bytes to read that the socket does not show.
  bool (*has_input)(void const* state) noexcept;
  /// True if nothing can be written before something is read: during the handshake.
  bool (*awaits_input)(void const* state) noexcept;
  /// True once the handshake is complete; before, no bytes are taken or delivered.
  bool (*is_open)(void const* state) noexcept;
  void (*close)(void* state) noexcept;
};

/// The functions of a class of streams.
template <class Stream>
inline constexpr stream_calls calls_of{
    .load = &Stream::load,
    .open = [](int fd, bool is_client, proof_key const& key) -> void* { return new Stream(fd, is_client, key); },
    .write = [](void* state,
                std::span<iovec const> parts) noexcept { return static_cast<Stream*>(state)->write(parts); },
    .read = [](void* state, std::byte* target,
               std::size_t bytes) noexcept { return static_cast<Stream*>(state)->read(target, bytes); },
    .flush = [](void* state) noexcept { return static_cast<Stream*>(state)->flush(); },
    .has_output = [](void const* state) noexcept { return static_cast<Stream const*>(state)->has_output(); },
    .has_input = [](void const* state) noexcept { return static_cast<Stream const*>(state)->has_input(); },
    .awaits_input = [](void const* state) noexcept { return static_cast<Stream const*>(state)->awaits_input(); },
    .is_open = [](void const* state) noexcept { return static_cast<Stream const*>(state)->is_open(); },
    .close = [](void* state) noexcept { delete static_cast<Stream*>(state); }};

/// One for all shared libraries of a process.
[[gnu::visibility("default")]] inline constinit stream_calls const* registered_streams = nullptr;

/// Loads the library of encryption.
/// @throws error(failure::join) if the program has none, there is no secret, or the system refuses it
TUTTI_DECL void load_encryption(world_secret const& secret);

/// The bytes of a connection in both directions: those of its socket, or encrypted ones.
class wire {
 public:
  explicit wire(descriptor socket) noexcept : socket_(std::move(socket)) {}
  /// @throws error(failure::join) if the library of encryption refuses a stream
  wire(descriptor socket, stream_calls const& calls, bool is_client, proof_key const& key)
      : socket_(std::move(socket)), calls_(&calls), state_(calls.open(socket_.get(), is_client, key)) {}
  wire(wire&& other) noexcept
      : socket_(std::move(other.socket_)), calls_(other.calls_), state_(std::exchange(other.state_, nullptr)) {}
  wire& operator=(wire&&) = delete;
  ~wire() {
    if (state_ != nullptr) {
      calls_->close(state_);
    }
  }

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_encrypted() const noexcept { return calls_ != nullptr; }

  /// Writes as sendmsg does.
  [[nodiscard]] ssize_t write(std::span<iovec const> parts) const noexcept {
    if (calls_ != nullptr) [[unlikely]] {
      return calls_->write(state_, parts);
    }
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    if (parts.size() == 1) {
      return ::send(fd(), parts[0].iov_base, parts[0].iov_len, flags);
    }
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return ::sendmsg(fd(), &message, flags);
  }
  /// Reads as recv does. EBADMSG: somebody has changed the bytes.
  [[nodiscard]] ssize_t read(std::byte* target, std::size_t bytes) const noexcept {
    if (calls_ != nullptr) [[unlikely]] {
      return calls_->read(state_, target, bytes);
    }
    return ::recv(fd(), target, bytes, MSG_DONTWAIT);
  }
  /// Writes what encryption keeps back. Returns true if nothing is left.
  bool flush() const noexcept { return calls_ == nullptr || calls_->flush(state_); }
  /// True if encryption keeps bytes back, until the socket is writable.
  [[nodiscard]] bool has_output() const noexcept { return calls_ != nullptr && calls_->has_output(state_); }
  /// True if there may be bytes to read that the socket does not show.
  [[nodiscard]] bool has_input() const noexcept { return calls_ != nullptr && calls_->has_input(state_); }
  /// True if nothing can be written before something is read.
  [[nodiscard]] bool awaits_input() const noexcept { return calls_ != nullptr && calls_->awaits_input(state_); }
  /// False during the handshake of encryption.
  [[nodiscard]] bool is_open() const noexcept { return calls_ == nullptr || calls_->is_open(state_); }

 private:
  descriptor socket_;
  stream_calls const* calls_ = nullptr;
  void* state_ = nullptr;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/wire.ipp>
#endif
