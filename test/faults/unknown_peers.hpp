// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/board.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/hello.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

/// Unknown peers at the ports of a world over TCP while it meets, connects and works: connections that send nothing,
/// too little, too much, too slowly, the words of another job or world, or random bytes.
namespace tutti::faults {

inline constexpr rank_type most_flooded = 4;    ///< ranks
inline constexpr std::size_t most_held = 400;   ///< connections held by the unknown peers at a time
inline constexpr int most_connections = 2'000;  ///< connections made by them in a trial

using dice = std::mt19937_64;

[[nodiscard]] inline std::string some_bytes(dice& d, std::size_t limit) {
  std::string text(d() % limit, '\0');
  for (char& c : text) {
    c = static_cast<char>(d());
  }
  return text;
}
[[nodiscard]] inline std::string frame_of(std::uint32_t kind, std::uint64_t length, std::string_view payload) {
  std::string text = "tut1";
  for (int i = 0; i < 4; ++i) {
    text += static_cast<char>(kind >> (8 * i));
  }
  for (int i = 0; i < 8; ++i) {
    text += static_cast<char>(length >> (8 * i));
  }
  return text.append(payload);
}

/// The bytes that an unknown peer sends to rank 0's meeting port.
[[nodiscard]] inline std::string words_at_the_meeting(dice& d) {
  auto const rank = static_cast<rank_type>(d() % 6);
  std::string const hello = detail::tcp_hello{rank, 77, "", {"h", 1, ""}}.encode();
  std::string const other = detail::tcp_hello{rank, 3, "another job", {"h", 1, ""}}.encode();
  std::string const whole = frame_of(1, hello.size(), hello);
  switch (d() % 7) {
    case 0:
      return "";
    case 1:
      return some_bytes(d, 100'000);
    case 2:
      return whole;
    case 3:
      return frame_of(1, other.size(), other);
    case 4:
      return whole.substr(0, d() % whole.size());
    case 5:
      return frame_of(1, d(), std::string(10'000, 'x'));
    default:
      return "tut1" + some_bytes(d, 5'000);
  }
}
/// The bytes that an unknown peer sends to a rank's own listener.
[[nodiscard]] inline std::string words_at_a_listener(dice& d) {
  detail::tcp::hello h;
  h.world = {d(), d()};
  h.kind = static_cast<detail::tcp::hello_kind>(d() % 6);
  h.sender = static_cast<rank_type>(d() % most_flooded);
  h.receiver = static_cast<rank_type>(d() % most_flooded);
  std::string const whole(reinterpret_cast<char const*>(&h), sizeof h);
  switch (d() % 6) {
    case 0:
      return "";
    case 1:
      return some_bytes(d, 100'000);
    case 2:
      return whole;
    case 3:
      return whole.substr(0, d() % whole.size());
    case 4:
      return whole + some_bytes(d, 10'000);
    default:
      return whole.substr(0, 8) + some_bytes(d, 5'000);
  }
}

/// A connection that sends its words at once, or slowly: some at first, and a byte in each later call.
struct unknown_peer {
  detail::descriptor socket;
  std::string words;

  void say(std::size_t limit) {
    std::string_view const part = std::string_view(words).substr(0, limit);
    words.erase(0, detail::write_some(socket.get(), detail::bytes_of(part)).bytes);
  }
};

/// Floods the ports until the world is over or enough connections were made.
inline void flood(std::uint64_t seed, rank_type n, std::uint16_t meeting, board& state) {
  using namespace std::chrono_literals;
  dice d(seed);
  // The first peer sends a valid hello, and then bytes without end.
  std::string const hello = detail::tcp_hello{1, n, "", {"h", 1, ""}}.encode();
  unknown_peer first{detail::net::connect(detail::net::resolve("127.0.0.1", meeting).front(), steady_now() + 1s),
                     frame_of(1, hello.size(), hello) + std::string(64 << 20, 'y')};
  first.say(first.words.size());
  state.has_begun = true;
  std::deque<unknown_peer> connections;
  std::size_t const capacity = d() % most_held;
  for (int count = 0; count < most_connections && !state.is_over; ++count) {
    std::size_t const target = d() % (most_flooded + 1);
    std::uint16_t const port = target == most_flooded ? meeting : state.port[target].load();
    if (port == 0) {
      std::this_thread::yield();
      continue;
    }
    unknown_peer s{detail::net::connect(detail::net::resolve("127.0.0.1", port).front(), steady_now() + 100ms),
                   target == most_flooded ? words_at_the_meeting(d) : words_at_a_listener(d)};
    if (s.socket) {
      s.say(d() % 3 == 0 ? 1 : s.words.size());
      connections.push_back(std::move(s));
    }
    while (connections.size() > capacity) {
      connections.pop_front();
    }
    first.say(1 << 20);
    if (!connections.empty()) {
      connections[d() % connections.size()].say(1);
    }
    if (d() % 50 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(d() % 2'000));
    }
  }
  while (!state.is_over) {
    std::this_thread::sleep_for(1ms);  // held connections stay open for all of the trial
  }
}

}  // namespace tutti::faults
