// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/frame_reader.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/tuning.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// A connection to a peer: a socket and what is under way in both directions.
struct connection {
  connection(descriptor s, hello const& peer, tcp_options const& o, fragment_pool& pool)
      : socket(std::move(s)),
        out(o.piece, static_cast<std::size_t>(std::min<std::uint64_t>(peer.window, SIZE_MAX)), o.window),
        in(peer.to, peer.from, pool, o.window) {}

  descriptor socket;
  frame_writer out;
  frame_reader in;
  bool watched = false;  ///< for being writable
  bool over = false;     ///< its end has been noticed
  bool relayed = false;  ///< a broadcast connection brings the fault that this one may not

  [[nodiscard]] int fd() const noexcept { return socket.get(); }

  sent send(flow s, std::span<std::byte const> bytes, std::size_t granule, call const& what) {
    bool const waited = out.waits(s.lane);
    sent result = out.offer(fd(), s, bytes, granule, what);
    // Not at the first refusal: what lies before the credit may have a reader, which has a better place for it.
    if (!result.accepted && waited && in.pump(fd(), out)) {
      result = out.offer(fd(), s, bytes, granule, what);
    }
    flush();
    return result;
  }
  chunk view(flow s, wanted const& w, call const& mine) {
    chunk const c = in.view(fd(), out, s, w, mine);
    flush();
    return c;
  }
  void release(flow s) {
    in.release(out, s);
    flush();
  }
  void pump() {
    while (in.pump(fd(), out)) {
    }
  }
  void dig() { in.dig(fd(), out); }
  void flush() {
    if (!out.empty()) {
      out.flush(fd());
    }
  }

  /// Whether everything that was accepted is in the hands of the peer's system.
  [[nodiscard]] bool delivered() const noexcept { return out.broken() || (out.empty() && unacknowledged(fd()) == 0); }
  /// Whether everything that was accepted is on its way: the peer's system has room for it.
  [[nodiscard]] bool on_the_way() const noexcept { return out.empty() && unsent(fd()) == 0; }

  /// Whether the peer's host has answered nothing for `limit`.
  [[nodiscard]] bool silent(duration limit) const noexcept { return tcp::silent(fd(), limit); }
};

}  // namespace tutti::detail::tcp
