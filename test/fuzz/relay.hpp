// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz.hpp"
#include "virtual_network.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace fuzz {

/// A program between the ranks of a world: it passes the messages of all connections on, or does with a message as an
/// input says.
class relay {
 public:
  /// A connection to a listener, of a rank or of the relay's own.
  struct connection {
    descriptor origin;                  ///< the end of the rank that has begun it; none: the relay has
    descriptor target;                  ///< the end at the listener
    std::vector<std::string> messages;  ///< said by the rank that has begun it
    std::string sent_text;              ///< passed on to the listener
    std::string answer;                 ///< said by the other side
  };

  /// @param listeners by port, from port 1 on
  relay(input& script, std::vector<listener> const& listeners) : script_(&script), listeners_(&listeners) {}

  [[nodiscard]] std::vector<connection> const& connections() const noexcept { return connections_; }

  /// True if a message was not passed on as it was.
  [[nodiscard]] bool has_interfered() const noexcept { return has_interfered_; }

  /// Begins a connection of its own.
  void intrude(std::size_t port, std::string_view words) {
    if (intruder_count_++ >= most_intruders) {
      return;
    }
    connection& c = connections_.emplace_back();
    c.target = (*listeners_)[port].connect(words);
    c.sent_text = words;
  }

  /// Takes new connections, and passes on what has been said. Returns false if there was nothing.
  bool step() {
    bool has_moved = !peers.empty();
    for (peer_end& end : std::exchange(peers, {})) {
      connection& c = connections_.emplace_back();
      c.target = (*listeners_)[std::size_t{end.port} - 1].connect("");
      c.origin = c.target ? std::move(end.socket) : descriptor();
    }
    for (std::size_t i = 0; i != connections_.size(); ++i) {
      has_moved = pass(i, true) || has_moved;
      has_moved = pass(i, false) || has_moved;
    }
    return has_moved;
  }

 private:
  static constexpr std::size_t most_kept = 64;
  static constexpr std::size_t most_intruders = 32;

  /// Passes the next message of one side on.
  bool pass(std::size_t i, bool to_target) {
    descriptor& source = to_target ? connections_[i].origin : connections_[i].target;
    if (!source) {
      return false;
    }
    char bytes[4096];
    ssize_t const size = ::recv(source.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) {
      return false;
    }
    if (size <= 0) {
      end(connections_[i]);
      return true;
    }
    std::string const message(bytes, static_cast<std::size_t>(size));
    connection& c = connections_[i];
    if (to_target) {
      c.messages.push_back(message);
    } else {
      c.answer += message;
    }
    if (known_messages_.size() != most_kept) {
      known_messages_.push_back(message);
    }
    if (c.origin) {
      act(i, to_target, message);
    }
    return true;
  }

  /// Does with a message as the input says.
  void act(std::size_t i, bool to_target, std::string message) {
    std::size_t const action = script_->choice(16);
    has_interfered_ = has_interfered_ || (action != 0 && action < 8);
    switch (action) {
      case 1: {  // changes a byte
        std::size_t const position = script_->number(2) % message.size();
        message[position] ^= static_cast<char>(1 + script_->choice(255));
        break;
      }
      case 2:  // cuts
        say(i, to_target, std::string_view(message).substr(0, script_->number(2) % message.size()));
        return end(connections_[i]);
      case 3:  // loses
        return;
      case 4:  // repeats
        say(i, to_target, message);
        break;
      case 5:  // replaces
        message = script_->text();
        break;
      case 6:  // puts something before it
        say(i, to_target, script_->text());
        break;
      case 7:  // passes an earlier one on in its place
        message = known_messages_[script_->choice(known_messages_.size())];
        break;
      case 8:  // says it on a connection of its own, too
        intrude(script_->choice(listeners_->size()), message);
        break;
      case 9: {  // says several earlier ones on a connection of its own
        std::string words;
        for (std::size_t count = script_->choice(4); count != 0; --count) {
          words += known_messages_[script_->choice(known_messages_.size())];
        }
        intrude(script_->choice(listeners_->size()), words);
        break;
      }
      default:
        break;
    }
    say(i, to_target, message);
  }
  void say(std::size_t i, bool to_target, std::string_view words) {
    connection& c = connections_[i];
    if (descriptor const& target = to_target ? c.target : c.origin) {
      fuzz::say(target, words);
    }
    if (to_target) {
      c.sent_text += words;
    }
  }
  static void end(connection& c) {
    c.origin.reset();
    c.target.reset();
  }

  input* script_;
  std::vector<listener> const* listeners_;
  std::vector<connection> connections_;
  std::vector<std::string> known_messages_;  ///< messages of all connections
  std::size_t intruder_count_ = 0;
  bool has_interfered_ = false;
};

}  // namespace fuzz
