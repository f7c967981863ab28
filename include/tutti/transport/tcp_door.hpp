// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/socket.hpp>
#include <tutti/transport/tcp_hello.hpp>
#include <tutti/transport/tcp_waiter.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::net {

/// The listening socket, and those who came through it and have not said who they are.
class door {
 public:
  door(address const& at, waiter const& w, duration patience) : listener_(listen(at)), patience_(patience) {
    w.add(listener_.get(), waiter::what::listener, 0, false);
  }

  [[nodiscard]] int fd() const noexcept { return listener_.get(); }
  [[nodiscard]] address where() const noexcept { return local_address(listener_.get()); }

  /// Lets in whoever waits, and hears whoever has something to say. Calls `arrive(descriptor, hello)`
  /// for a complete greeting, `refuse(text)` for whoever was closed without one.
  template <class Arrive, class Refuse>
  void answer(waiter& w, Arrive arrive, Refuse refuse) {
    while (strangers_.size() < most_strangers) {
      descriptor s = accept(listener_.get());
      if (!s) {
        break;
      }
      w.add(s.get(), waiter::what::stranger, 0, false);
      strangers_.push_back({std::move(s), {}, 0, steady_now()});
    }
    for (std::size_t i = 0; i < strangers_.size();) {
      stranger& s = strangers_[i];
      moved const m = read_some(s.socket.get(), std::as_writable_bytes(std::span(&s.says, 1)).subspan(s.got));
      s.got += m.bytes;
      bool const late = m.state == io::open && steady_now() - s.since >= patience_;
      // What differs from the first byte on is not waited for.
      bool const foreign = std::memcmp(&s.says, hello::expected_magic, std::min(s.got, sizeof s.says.magic)) != 0;
      if (m.state == io::open && !late && !foreign) {
        w.wake_at(s.since + patience_);
        ++i;
        continue;
      }
      stranger gone = std::move(s);
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
      w.remove(gone.socket.get());
      if (m.state == io::done && !foreign) {
        arrive(std::move(gone.socket), gone.says);
      } else {
        std::string const who = peer_address(gone.socket.get()).text();
        refuse("refused a connection from " + who + ": " +
               (foreign ? "not the protocol of tutti"
                : late  ? "it did not say who it is"
                        : "it closed early"));
      }
    }
  }

 private:
  /// More wait in the listener's queue until the patience with these is over.
  static constexpr std::size_t most_strangers = 256;

  struct stranger {
    descriptor socket;
    hello says;
    std::size_t got;
    time_point since;
  };

  descriptor listener_;
  duration patience_;
  std::vector<stranger> strangers_;
};

}  // namespace tutti::net
