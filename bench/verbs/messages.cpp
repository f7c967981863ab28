// SPDX-License-Identifier: Apache-2.0
//
// Measures messages over verbs between two processes that sleep until there is something to do. Prints one number;
// bench/verbs/softroce.sh runs it beside other projects' programs.
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/verbs/verbs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace {

using tutti::verbs;

constexpr tutti::flow data_flow{0, 0};

double seconds_since(tutti::time_point begin) {
  return std::chrono::duration<double>(tutti::steady_now() - begin).count();
}

/// Sleeps until `condition` returns true.
template <class F>
void wait_until(verbs& t, F condition) {
  while (!condition()) {
    if (t.fault()) {
      throw std::runtime_error("a rank is gone");
    }
    ::pollfd descriptor{t.arm(), POLLIN, 0};
    bool const is_done = condition();
    if (!is_done) {
      ::poll(&descriptor, 1, -1);
    }
    t.disarm();
    if (is_done) {
      return;
    }
  }
}

/// Sends a message whole.
/// @returns the ticket of its release
tutti::ticket send(verbs& t, std::span<std::byte const> bytes) {
  tutti::send_result s;
  wait_until(t, [&] { return (s = t.send(1 - t.rank(), data_flow, bytes, 1)).is_accepted; });
  return s.release_ticket;
}
/// Waits for the release of a message, if there was one.
void wait_released(verbs& t, tutti::ticket k) {
  wait_until(t, [&] { return k == 0 || t.is_released(1 - t.rank(), data_flow, k); });
}
/// Receives a message to its place.
void receive(verbs& t, std::span<std::byte> buffer) {
  while (!buffer.empty()) {
    tutti::chunk c;
    wait_until(t, [&] {
      return static_cast<bool>(c = t.view(1 - t.rank(), data_flow, {buffer.size(), 1, buffer.data()}));
    });
    t.release(1 - t.rank(), data_flow);
    buffer = buffer.subspan(c.bytes);
  }
}

/// Half a round trip of 4 bytes, in us.
double latency(verbs& t) {
  constexpr int warm_up = 50;
  constexpr int rounds = 4000;
  std::byte outgoing[4] = {};
  std::byte incoming[4] = {};
  tutti::time_point begin;
  for (int i = -warm_up; i < rounds; ++i) {
    if (i == 0) {
      begin = tutti::steady_now();
    }
    if (t.rank() == 0) {
      send(t, outgoing);
    }
    receive(t, incoming);
    if (t.rank() == 1) {
      send(t, outgoing);
    }
  }
  return seconds_since(begin) * 1e6 / (2 * rounds);
}

/// MiB/s of messages of 1 MiB one way, four under way, from memory of one kind straight to memory of that kind.
/// Copied: from ordinary memory to ordinary memory, through the transport's memory at both ends.
double bandwidth(verbs& t, std::string_view kind) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  constexpr std::size_t in_flight = 4;
  constexpr std::size_t warm_up = 4;
  constexpr std::size_t count = 256;
  std::vector<std::byte> ordinary(in_flight * bytes, std::byte{1});
  auto const source = t.memory();
  auto* const transport_memory = static_cast<std::byte*>(source->take(in_flight * bytes));
  std::fill_n(transport_memory, in_flight * bytes, std::byte{1});
  std::byte* const memory = kind == "plain" ? ordinary.data() : transport_memory;
  bool const copies = kind == "copied";
  std::byte signal[1] = {};
  tutti::ticket release_tickets[in_flight] = {};
  tutti::time_point begin;
  for (std::size_t i = 0; i < warm_up + count; ++i) {
    if (i == warm_up) {
      begin = tutti::steady_now();
    }
    std::size_t const offset = i % in_flight * bytes;
    std::span const place(memory + offset, bytes);
    if (t.rank() == 1) {
      receive(t, place);
      if (copies) {
        std::memcpy(ordinary.data() + offset, place.data(), bytes);
      }
    } else {
      wait_released(t, release_tickets[i % in_flight]);
      if (copies) {
        std::memcpy(place.data(), ordinary.data() + offset, bytes);
      }
      release_tickets[i % in_flight] = send(t, place);
    }
  }
  if (t.rank() == 1) {
    send(t, signal);
  } else {
    receive(t, signal);
  }
  double const duration = seconds_since(begin);
  source->give(transport_memory, in_flight * bytes);
  return count * (bytes >> 20) / duration;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const measurement = argc == 2 ? argv[1] : "";
  if (measurement != "latency" && measurement != "plain" && measurement != "copied" && measurement != "provided") {
    std::fputs("usage: softroce_messages latency|plain|copied|provided\n", stderr);
    return 2;
  }
  auto const ranks = tutti::detail::run_processes(2, [&](tutti::detail::process_rendezvous& meet) {
    verbs t(meet);
    t.begin(data_flow, {});
    return measurement == "latency" ? latency(t) : bandwidth(t, measurement);
  });
  for (auto const& r : ranks) {
    if (!r) {
      std::fprintf(stderr, "%s\n", r.failure().text.c_str());
      return 1;
    }
  }
  std::printf("%.2f\n", ranks[0].value());
}
