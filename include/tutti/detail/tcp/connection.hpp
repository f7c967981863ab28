// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/frame_reader.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/socket_options.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// A connection to a peer: a socket, and the state of both directions.
struct connection {
  connection(descriptor connected_socket, hello const& peer_hello, tcp_options const& options, fragment_pool& pool)
      : socket(std::move(connected_socket)),
        writer(options.piece, static_cast<std::size_t>(std::min<std::uint64_t>(peer_hello.window, SIZE_MAX)),
               options.window),
        reader(peer_hello.receiver, peer_hello.sender, pool, options.window) {}

  descriptor socket;
  frame_writer writer;
  frame_reader reader;
  bool write_watched = false;  ///< epoll reports when it is writable
  bool is_closed = false;      ///< the end of the stream was seen
  bool fault_relayed = false;  ///< the fault is sent by a broadcast connection instead

  [[nodiscard]] int fd() const noexcept { return socket.get(); }

  send_result send(flow s, std::span<std::byte const> bytes, std::size_t granule, call const& own_call) {
    bool const awaited_credit = writer.awaits_credit(s.lane);
    send_result result = writer.offer(fd(), s, bytes, granule, own_call);
    // At the first refusal the pending bytes are left for their reader, who may have a better place for them.
    if (!result.is_accepted && awaited_credit && reader.pump(fd(), writer)) {
      result = writer.offer(fd(), s, bytes, granule, own_call);
    }
    flush();
    return result;
  }
  chunk view(flow s, receive_request const& request, call const& own_call) {
    chunk const c = reader.view(fd(), writer, s, request, own_call);
    flush();
    return c;
  }
  void release(flow s) {
    reader.release(writer, s);
    flush();
  }
  void pump() {
    while (reader.pump(fd(), writer)) {
    }
  }
  void drain_control_frames() { reader.drain_control_frames(fd(), writer); }
  void flush() {
    if (!writer.is_empty()) {
      writer.flush(fd());
    }
  }

  /// True if all that was accepted has arrived at the peer's system.
  [[nodiscard]] bool is_delivered() const noexcept {
    return writer.is_broken() || (writer.is_empty() && unacknowledged_bytes(fd()) == 0);
  }
  /// True if all that was accepted has been sent: the peer's system has room for it.
  [[nodiscard]] bool is_sent() const noexcept { return writer.is_empty() && unsent_bytes(fd()) == 0; }

  /// True if the peer's host has not answered for `limit`.
  [[nodiscard]] bool is_silent(duration limit) const noexcept { return tcp::is_silent(fd(), limit); }
};

}  // namespace tutti::detail::tcp
