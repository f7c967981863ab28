// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/listener.hpp>

#include <cstring>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// What the greeter asks and tells, passed on to the visitor.
struct listener::guard {
  listener& self;
  visitor& to;

  [[nodiscard]] pending begin(descriptor s) const {
    self.waiter_.add(s.get(), waiter::what::pending_connection, static_cast<rank_type>(s.get()), false);
    return {std::move(s), steady_now()};
  }
  [[nodiscard]] static heard hear(pending& p) noexcept {
    moved const m = read_some(p.socket.get(), std::as_writable_bytes(std::span(&p.says, 1)).subspan(p.got));
    p.got += m.bytes;
    // What differs from the first byte on is not waited for.
    if (std::memcmp(p.says.magic, hello::expected_magic, (std::min)(p.got, sizeof p.says.magic)) != 0) {
      return {.complete = false, .objection = "not the protocol of tutti"};
    }
    return {.complete = m.state == io::done, .objection = m.state == io::closed ? "it closed early" : nullptr};
  }
  void arrive(pending p) const {
    self.waiter_.remove(p.fd());
    to.arrive(std::move(p.socket), p.says);
  }
  void turn_away(pending const& p, char const* why) const {
    self.waiter_.remove(p.fd());
    ++self.turned_away_;
    to.refuse(p.socket, why);
  }
};

TUTTI_DECL listener::listener(address const& at, waiter& w, duration patience)
    : waiter_(w), socket_(listen(at)), patience_(patience) {
  await_data(socket_.get());
  open();
}

TUTTI_DECL void listener::answer(visitor& v) {
  constexpr int most_turned_away = 32;  // at a time
  constexpr int rests_for = 20;         // times as long as that took
  guard g{*this, v};
  time_point const now = steady_now();
  while (!pending_.empty() && now - pending_.oldest().since >= patience_) {
    pending_.turn_oldest_away(g, "it did not say which rank it is");
  }
  if (!pending_.empty()) {
    waiter_.wake_at(pending_.oldest().since + patience_);
  }
  if (now < opens_) {
    return waiter_.wake_at(opens_);
  }
  turned_away_ = 0;
  open();
  while (turned_away_ < most_turned_away && accept_one(g, now)) {
  }
  if (turned_away_ != 0) {
    time_point const then = steady_now();
    pause(then + std::min<duration>(rests_for * (then - now), longest_pause));
  }
}

TUTTI_DECL void listener::answer_all(visitor& v) {
  constexpr int longest_queue = 1024;  // of the system; these have no descriptor of this process yet
  guard g{*this, v};
  time_point const now = steady_now();
  for (int i = 0; i < 2 * longest_queue && accept_one(g, now); ++i) {
  }
  pending_.hear_all(g);
}

TUTTI_DECL void listener::hear(int fd, visitor& v) {
  guard g{*this, v};
  pending_.hear_descriptor(fd, g);
}

TUTTI_DECL bool listener::clear(visitor& v) {
  guard g{*this, v};
  bool const any = !pending_.empty();
  while (!pending_.empty()) {
    pending_.turn_oldest_away(g, "it made room");
  }
  return any;
}

TUTTI_DECL void listener::open() noexcept {
  if (!open_) {
    open_ = true;
    waiter_.add(socket_.get(), waiter::what::listener, 0, false);
  }
}

/// Connections that come before `until` wake nothing.
TUTTI_DECL void listener::pause(time_point until) noexcept {
  opens_ = until;
  open_ = false;
  waiter_.remove(socket_.get());
  waiter_.wake_at(until);
}

/// Accepts one. False: there is none, or no descriptor for it.
TUTTI_DECL bool listener::accept_one(guard& g, time_point now) {
  bool const more = pending_.accept_one(socket_.get(), g);
  if (!more && pending_.starved() != 0) {
    pause(now + longest_pause);
  }
  return more;
}

}  // namespace tutti::detail::tcp
