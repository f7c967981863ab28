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

constexpr tutti::flow on{0, 0};

double seconds_since(tutti::time_point begin) {
  return std::chrono::duration<double>(tutti::steady_now() - begin).count();
}

/// Sleeps until `done` returns true.
template <class F>
void until(verbs& t, F done) {
  while (!done()) {
    if (t.fault()) {
      throw std::runtime_error("a rank is gone");
    }
    ::pollfd descriptor{t.arm(), POLLIN, 0};
    bool const now = done();
    if (!now) {
      ::poll(&descriptor, 1, -1);
    }
    t.disarm();
    if (now) {
      return;
    }
  }
}

/// Sends a message whole.
/// @returns the ticket of its release
tutti::ticket send(verbs& t, std::span<std::byte const> bytes) {
  tutti::send_result s;
  until(t, [&] { return (s = t.send(1 - t.rank(), on, bytes, 1)).accepted; });
  return s.release_ticket;
}
/// Waits for the release of a message, if there was one.
void wait_released(verbs& t, tutti::ticket k) {
  until(t, [&] { return k == 0 || t.is_released(1 - t.rank(), on, k); });
}
/// Receives a message to its place.
void receive(verbs& t, std::span<std::byte> to) {
  while (!to.empty()) {
    tutti::chunk c;
    until(t, [&] { return static_cast<bool>(c = t.view(1 - t.rank(), on, {to.size(), 1, to.data()})); });
    t.release(1 - t.rank(), on);
    to = to.subspan(c.bytes);
  }
}

/// Half a round trip of 4 bytes, in us.
double latency(verbs& t) {
  constexpr int warm_up = 50;
  constexpr int rounds = 4000;
  std::byte there[4] = {};
  std::byte here[4] = {};
  tutti::time_point begin;
  for (int i = -warm_up; i < rounds; ++i) {
    if (i == 0) {
      begin = tutti::steady_now();
    }
    if (t.rank() == 0) {
      send(t, there);
    }
    receive(t, here);
    if (t.rank() == 1) {
      send(t, there);
    }
  }
  return seconds_since(begin) * 1e6 / (2 * rounds);
}

/// MiB/s of messages of 1 MiB one way, four under way, from memory of one kind straight to memory of that kind.
/// Copied: from ordinary memory to ordinary memory, through the transport's memory at both ends.
double bandwidth(verbs& t, std::string_view kind) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  constexpr std::size_t under_way = 4;
  constexpr std::size_t warm_up = 4;
  constexpr std::size_t count = 256;
  std::vector<std::byte> ordinary(under_way * bytes, std::byte{1});
  auto const source = t.memory();
  auto* const provided = static_cast<std::byte*>(source->take(under_way * bytes));
  std::fill_n(provided, under_way * bytes, std::byte{1});
  std::byte* const memory = kind == "plain" ? ordinary.data() : provided;
  bool const copies = kind == "copied";
  std::byte one[1] = {};
  tutti::ticket until_released[under_way] = {};
  tutti::time_point begin;
  for (std::size_t i = 0; i < warm_up + count; ++i) {
    if (i == warm_up) {
      begin = tutti::steady_now();
    }
    std::size_t const offset = i % under_way * bytes;
    std::span const place(memory + offset, bytes);
    if (t.rank() == 1) {
      receive(t, place);
      if (copies) {
        std::memcpy(ordinary.data() + offset, place.data(), bytes);
      }
    } else {
      wait_released(t, until_released[i % under_way]);
      if (copies) {
        std::memcpy(place.data(), ordinary.data() + offset, bytes);
      }
      until_released[i % under_way] = send(t, place);
    }
  }
  if (t.rank() == 1) {
    send(t, one);
  } else {
    receive(t, one);
  }
  double const taken = seconds_since(begin);
  source->give(provided, under_way * bytes);
  return count * (bytes >> 20) / taken;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const what = argc == 2 ? argv[1] : "";
  if (what != "latency" && what != "plain" && what != "copied" && what != "provided") {
    std::fputs("usage: softroce_messages latency|plain|copied|provided\n", stderr);
    return 2;
  }
  auto const ranks = tutti::detail::run_processes(2, [&](tutti::detail::process_rendezvous& meet) {
    verbs t(meet);
    t.begin(on, {});
    return what == "latency" ? latency(t) : bandwidth(t, what);
  });
  for (auto const& r : ranks) {
    if (!r) {
      std::fprintf(stderr, "%s\n", r.failure().text.c_str());
      return 1;
    }
  }
  std::printf("%.2f\n", ranks[0].value());
}
