// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/frame_reader.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/socket_options.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// A connection to a peer: its bytes, and the state of both directions.
struct connection {
  connection(wire peer_bytes, hello const& peer_hello, tcp_options const& options, fragment_pool& pool)
      : bytes(std::move(peer_bytes)),
        writer(options.piece, static_cast<std::size_t>(std::min<std::uint64_t>(peer_hello.window, SIZE_MAX)),
               options.window),
        reader(peer_hello.receiver, peer_hello.sender, pool, options.window) {}

  wire bytes;
  frame_writer writer;
  frame_reader reader;
  bool write_watched = false;  ///< epoll reports when it is writable
  bool is_closed = false;      ///< the end of the stream was seen
  bool fault_relayed = false;  ///< the fault is sent by a broadcast connection instead

  [[nodiscard]] int fd() const noexcept { return bytes.fd(); }

  send_result send(flow s, std::span<std::byte const> message, std::size_t granule, call const& own_call) {
    bool const awaited_credit = writer.awaits_credit(s.lane);
    send_result result = writer.offer(bytes, s, message, granule, own_call);
    // At the first refusal the pending bytes are left for their reader, who may have a better place for them.
    if (!result.is_accepted && awaited_credit && reader.pump(bytes, writer)) {
      result = writer.offer(bytes, s, message, granule, own_call);
    }
    flush();
    return result;
  }
  chunk view(flow s, receive_request const& request, call const& own_call) {
    chunk const c = reader.view(bytes, writer, s, request, own_call);
    flush();
    return c;
  }
  void release(flow s) {
    reader.release(writer, s);
    flush();
  }
  void pump() {
    while (reader.pump(bytes, writer)) {
    }
  }
  void drain_control_frames() { reader.drain_control_frames(bytes, writer); }
  void flush() {
    if (!is_flushed()) {
      writer.flush(bytes);
    }
  }

  /// True if the system has all that was accepted.
  [[nodiscard]] bool is_flushed() const noexcept { return writer.is_empty() && !bytes.has_output(); }
  /// True if the connection continues once its socket is writable.
  [[nodiscard]] bool awaits_room() const noexcept {
    return (writer.is_blocked() || !is_flushed()) && !bytes.awaits_input();
  }
  /// True if all that was accepted has arrived at the peer's system.
  [[nodiscard]] bool is_delivered() const noexcept {
    return writer.is_broken() || (is_flushed() && unacknowledged_bytes(fd()) == 0);
  }
  /// True if all that was accepted has been sent: the peer's system has room for it.
  [[nodiscard]] bool is_sent() const noexcept { return is_flushed() && unsent_bytes(fd()) == 0; }

  /// True if the peer's host has not answered for `limit`.
  [[nodiscard]] bool is_silent(duration limit) const noexcept { return tcp::is_silent(fd(), limit); }
};

}  // namespace tutti::detail::tcp
