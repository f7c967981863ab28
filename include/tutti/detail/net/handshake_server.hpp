// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>

#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline net {

/// The state of a peer's handshake: complete, refused, or neither while bytes are missing.
struct handshake_state {
  bool complete = false;
  char const* objection = nullptr;
};

/// Accepts connections at a listener, and keeps each until its handshake is complete or refused.
///
/// Members send their handshake as soon as they are connected, so only some connections need to be pending. The oldest
/// makes room for the next, also when descriptors run out: a flood of strangers costs a member only the time to be
/// accepted. A member that made room connects again.
///
/// `Pending` is the state of a connection; it has `fd()`. The handler knows the bytes of the handshake:
///
///     handler.begin(descriptor)         makes the Pending of an accepted connection
///     handler.hear(pending)             reads what is there, and returns the state
///     handler.arrive(pending)           takes over a connection whose handshake is complete
///     handler.turn_away(pending, why)   is told of a refused connection, which is closed afterwards
template <class Pending>
class handshake_server {
 public:
  static constexpr std::size_t max_pending = 64;  ///< each takes a descriptor

  [[nodiscard]] bool empty() const noexcept { return pending_.empty(); }
  /// @pre not empty()
  [[nodiscard]] Pending const& oldest() const noexcept { return pending_.front(); }
  /// The errno if the last accept failed for lack of descriptors or memory, else 0.
  [[nodiscard]] int resource_error() const noexcept { return resource_error_; }

  /// Accepts and reads a connection, or makes room for one. Returns false if none waits or no room can be made
  /// (`resource_error`).
  template <class Handler>
  TUTTI_COLD bool accept_one(int listener, Handler& handler) {
    descriptor s = accept(listener);
    bool const no_connection = !s && !out_of_resources(errno);
    resource_error_ = s || no_connection ? 0 : errno;
    if (no_connection || (resource_error_ != 0 && pending_.empty())) {
      return false;
    }
    if (resource_error_ != 0 || pending_.size() == max_pending) {
      turn_oldest_away(handler, "it made room for a newer connection");
    }
    if (s) {
      pending_.push_back(handler.begin(std::move(s)));
      hear(pending_.size() - 1, handler);
    }
    return true;
  }

  /// Accepts waiting connections, but no more than there is room for: each is read before it makes room for another,
  /// and the caller can check the time.
  template <class Handler>
  void accept_some(int listener, Handler& handler) {
    for (std::size_t i = 0; i < max_pending && accept_one(listener, handler); ++i) {
    }
  }

  /// Adds an entry for each pending connection.
  void append_to(std::vector<pollfd>& set) const {
    for (Pending const& p : pending_) {
      set.push_back({p.fd(), POLLIN, 0});
    }
  }
  /// Reads the pending connections that are ready by the entries of `append_to`, from `first` on.
  template <class Handler>
  void hear_ready(std::vector<pollfd> const& set, std::size_t first, Handler& handler) {
    for (std::size_t i = pending_.size(); i-- > 0;) {
      if (set[first + i].revents != 0) {
        hear(i, handler);
      }
    }
  }
  /// Reads the connection with this descriptor, if it is still pending.
  template <class Handler>
  void hear_descriptor(int fd, Handler& handler) {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].fd() == fd) {
        return hear(i, handler);
      }
    }
  }
  template <class Handler>
  void hear_all(Handler& handler) {
    for (std::size_t i = pending_.size(); i-- > 0;) {
      hear(i, handler);
    }
  }

  /// @pre not empty()
  template <class Handler>
  void turn_oldest_away(Handler& handler, char const* reason) {
    handler.turn_away(take(0), reason);
  }

 private:
  template <class Handler>
  TUTTI_COLD void hear(std::size_t i, Handler& handler) {
    handshake_state const h = handler.hear(pending_[i]);
    if (h.objection != nullptr) {
      handler.turn_away(take(i), h.objection);
    } else if (h.complete) {
      handler.arrive(take(i));
    }
  }

  /// Removes a connection from the pending ones.
  [[nodiscard]] Pending take(std::size_t i) {
    Pending connection = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    return connection;
  }

  std::vector<Pending> pending_;  ///< in order of arrival
  int resource_error_ = 0;
};

}  // namespace tutti::detail::net
