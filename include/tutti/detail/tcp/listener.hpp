// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/waiter.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::detail::net {

/// The listening socket, and the pending connections: those that it has accepted and that have not greeted.
///
/// Members greet as soon as they are connected, so whatever a flood of others does, they lose no more than the time to
/// be accepted: a connection that sends nothing is not accepted where the system can tell (`await_data`); pending
/// connections are few, and the oldest one makes room; and what is turned away costs no more than a small share of the
/// time, for nothing is accepted for a moment after some of that.
///
/// What is found out is told to a visitor: `arrive(descriptor, hello)` for a complete greeting, `refuse(descriptor,
/// text)` for a connection that is closed without one.
class listener {
 public:
  listener(address const& at, waiter& w, duration patience) : waiter_(w), socket_(listen(at)), patience_(patience) {
    await_data(socket_.get());
    open();
  }

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] address where() const noexcept { return local_address(socket_.get()); }
  /// Why nothing can be accepted: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int starved() const noexcept { return starved_; }

  /// Accepts the connections that wait, as many as may be now.
  template <class Visitor>
  void answer(Visitor& v) {
    time_point const now = steady_now();
    while (!pending_.empty() && now - pending_.front().since >= patience_) {
      turn_away(pending_.front(), v, "it did not say who it is");
    }
    if (!pending_.empty()) {
      waiter_.wake_at(pending_.front().since + patience_);
    }
    if (now < opens_) {
      return waiter_.wake_at(opens_);
    }
    turned_away_ = 0;
    open();
    while (turned_away_ < most_turned_away && accept_one(v, now)) {
    }
    if (turned_away_ != 0) {
      time_point const then = steady_now();
      pause(then + std::min<duration>(rests_for * (then - now), longest_pause));
    }
  }

  /// Accepts and hears all that have come until now.
  template <class Visitor>
  void answer_all(Visitor& v) {
    time_point const now = steady_now();
    for (int i = 0; i < 2 * longest_queue && accept_one(v, now); ++i) {
    }
    for (std::size_t i = pending_.size(); i-- > 0;) {
      hear(pending_[i], v);
    }
  }

  /// Hears the pending connection at a descriptor, if it still is one.
  template <class Visitor>
  void hear(int fd, Visitor& v) {
    for (pending_connection& s : pending_) {
      if (s.socket.get() == fd) {
        return hear(s, v);
      }
    }
  }

  /// Turns the pending connections away, for their descriptors. False: there are none.
  template <class Visitor>
  bool clear(Visitor& v) {
    bool const any = !pending_.empty();
    while (!pending_.empty()) {
      turn_away(pending_.front(), v, "made room");
    }
    return any;
  }

 private:
  static constexpr std::size_t most_pending = 64;  ///< each has a descriptor of this process
  static constexpr int longest_queue = 1024;       ///< these have none yet
  static constexpr int most_turned_away = 32;      ///< at a time
  static constexpr int rests_for = 20;             ///< times as long as that took
  static constexpr duration longest_pause = std::chrono::milliseconds(100);

  struct pending_connection {
    descriptor socket;
    hello says;
    std::size_t got;
    time_point since;
  };

  void open() noexcept {
    if (!open_) {
      open_ = true;
      waiter_.add(socket_.get(), waiter::what::listener, 0, false);
    }
  }
  /// Nobody is woken by connections that come before `until`.
  void pause(time_point until) noexcept {
    opens_ = until;
    open_ = false;
    waiter_.remove(socket_.get());
    waiter_.wake_at(until);
  }

  /// Accepts one. False: there is none, or no descriptor for it.
  template <class Visitor>
  bool accept_one(Visitor& v, time_point now) {
    descriptor s = accept(socket_.get());
    if (!s && !out_of_resources(errno)) {
      return false;
    }
    starved_ = s ? 0 : errno;
    if (!s && pending_.empty()) {
      pause(now + longest_pause);
      return false;
    }
    if (!s || pending_.size() == most_pending) {
      turn_away(pending_.front(), v, "made room for a newer connection");
    }
    if (s) {
      waiter_.add(s.get(), waiter::what::pending_connection, static_cast<rank_type>(s.get()), false);
      pending_.push_back({std::move(s), {}, 0, now});
      hear(pending_.back(), v);
    }
    return true;
  }

  template <class Visitor>
  void hear(pending_connection& s, Visitor& v) {
    moved const m = read_some(s.socket.get(), std::as_writable_bytes(std::span(&s.says, 1)).subspan(s.got));
    s.got += m.bytes;
    // What differs from the first byte on is not waited for.
    if (std::memcmp(&s.says, hello::expected_magic, std::min(s.got, sizeof s.says.magic)) != 0) {
      turn_away(s, v, "not the protocol of tutti");
    } else if (m.state == io::done) {
      pending_connection known = take(s);
      v.arrive(std::move(known.socket), known.says);
    } else if (m.state != io::open) {
      turn_away(s, v, "it closed early");
    }
  }

  template <class Visitor>
  void turn_away(pending_connection& s, Visitor& v, char const* why) {
    ++turned_away_;
    v.refuse(take(s).socket, why);
  }

  pending_connection take(pending_connection& s) {
    pending_connection gone = std::move(s);
    pending_.erase(pending_.begin() + (&s - pending_.data()));
    waiter_.remove(gone.socket.get());
    return gone;
  }

  waiter& waiter_;
  descriptor socket_;
  duration patience_;
  std::vector<pending_connection> pending_;  ///< in the order in which they came
  time_point opens_{};
  int turned_away_ = 0;
  int starved_ = 0;
  bool open_ = false;
};

}  // namespace tutti::detail::net
