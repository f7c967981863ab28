// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>

#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline net {

/// What was heard of a connection: its whole greeting, or enough to turn it away. Neither: there is more to come.
struct heard {
  bool complete = false;
  char const* objection = nullptr;
};

/// Accepts the connections that wait at a listener, and keeps each until it has greeted or is turned away.
///
/// Members greet as soon as they are connected, so a flood of unknown peers costs them no more than the time to be
/// accepted: pending connections are few, and the oldest makes room for the next, as it does where descriptors run out.
/// A member that made room comes again.
///
/// `Pending` is what a connection has said so far; it has `fd()`. A visitor says what a greeting is:
///
///     visitor.begin(descriptor)         the Pending of a connection that was accepted
///     visitor.hear(pending)             reads what is there, and says what was heard
///     visitor.arrive(pending)           it has greeted, and is the visitor's from now on
///     visitor.turn_away(pending, why)   it is closed afterwards
template <class Pending>
class greeter {
 public:
  static constexpr std::size_t most_pending = 64;  ///< each has a descriptor of this process

  [[nodiscard]] bool empty() const noexcept { return pending_.empty(); }
  /// @pre not empty()
  [[nodiscard]] Pending const& oldest() const noexcept { return pending_.front(); }
  /// Why the last attempt to accept failed: an errno of want of descriptors or memory, 0 if it did not for that.
  [[nodiscard]] int starved() const noexcept { return starved_; }

  /// Accepts a connection and hears it, or makes room for it. False: there is none, or no room to be made (`starved`).
  template <class Visitor>
  TUTTI_COLD bool accept_one(int listener, Visitor& visitor) {
    descriptor s = accept(listener);
    bool const no_connection = !s && !out_of_resources(errno);
    starved_ = s || no_connection ? 0 : errno;
    if (no_connection || (starved_ != 0 && pending_.empty())) {
      return false;
    }
    if (starved_ != 0 || pending_.size() == most_pending) {
      turn_oldest_away(visitor, "it made room for a newer connection");
    }
    if (s) {
      pending_.push_back(visitor.begin(std::move(s)));
      hear(pending_.size() - 1, visitor);
    }
    return true;
  }

  /// Accepts the connections that wait, as many as there is room for: each is heard before it makes room for another,
  /// and the caller gets to look at the time.
  template <class Visitor>
  void accept_some(int listener, Visitor& visitor) {
    for (std::size_t i = 0; i < most_pending && accept_one(listener, visitor); ++i) {
    }
  }

  /// Adds an entry for each pending connection.
  void append_to(std::vector<pollfd>& set) const {
    for (Pending const& p : pending_) {
      set.push_back({p.fd(), POLLIN, 0});
    }
  }
  /// Hears those that are ready, as the entries from `first` on say that `append_to` has made.
  template <class Visitor>
  void hear_ready(std::vector<pollfd> const& set, std::size_t first, Visitor& visitor) {
    for (std::size_t i = pending_.size(); i-- > 0;) {
      if (set[first + i].revents != 0) {
        hear(i, visitor);
      }
    }
  }
  /// Hears the one with this descriptor, if it still is pending.
  template <class Visitor>
  void hear_descriptor(int fd, Visitor& visitor) {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].fd() == fd) {
        return hear(i, visitor);
      }
    }
  }
  template <class Visitor>
  void hear_all(Visitor& visitor) {
    for (std::size_t i = pending_.size(); i-- > 0;) {
      hear(i, visitor);
    }
  }

  /// @pre not empty()
  template <class Visitor>
  void turn_oldest_away(Visitor& visitor, char const* reason) {
    visitor.turn_away(take(0), reason);
  }

 private:
  template <class Visitor>
  TUTTI_COLD void hear(std::size_t i, Visitor& visitor) {
    heard const h = visitor.hear(pending_[i]);
    if (h.objection != nullptr) {
      visitor.turn_away(take(i), h.objection);
    } else if (h.complete) {
      visitor.arrive(take(i));
    }
  }

  /// It is pending no longer, whatever becomes of it.
  [[nodiscard]] Pending take(std::size_t i) {
    Pending connection = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    return connection;
  }

  std::vector<Pending> pending_;  ///< in the order in which they came
  int starved_ = 0;
};

}  // namespace tutti::detail::net
