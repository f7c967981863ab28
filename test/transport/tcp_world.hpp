// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <memory>
#include <thread>

namespace tutti::support {

/// The ranks of a tcp world, all driven by this thread, so that a test says in which order they act.
struct tcp_ranks {
  explicit tcp_ranks(rank_type n, tcp_options const& o = {}) : ranks(n) {
    tutti::detail::thread_meeting place(n, std::chrono::seconds(30));
    std::vector<std::thread> threads;
    for (rank_type r = 0; r < n; ++r) {
      threads.emplace_back([&, r] {
        tutti::detail::thread_rendezvous meet(place, r);
        ranks[r] = std::make_unique<tcp>(meet, o);
        for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
          ranks[r]->begin({lane, 0}, laws::a_call(1));
        }
      });
    }
    for (std::thread& t : threads) {
      t.join();
    }
  }

  tcp& operator[](rank_type r) { return *ranks[r]; }

  void poll() {
    for (auto const& t : ranks) {
      if (t != nullptr) {
        t->poll();
      }
    }
  }

  /// Polls all ranks until `done()`, for a generous time. "" or what is wrong.
  template <class Done>
  verdict until(Done&& done) {
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    while (!done()) {
      poll();
      if (steady_now() > deadline) {
        return "waited too long";
      }
    }
    return "";
  }

  /// One message from one rank to another, which looks at every byte.
  verdict deliver(rank_type from, rank_type to, flow s, std::size_t bytes, std::size_t granule = 1,
                  bool placed = false) {
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> in(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      out[i] = pattern(seed_of(from, to, s, bytes), i);
    }
    std::size_t sent_bytes = 0;
    std::size_t got = 0;
    bool all_sent = false;
    bool all_got = false;
    verdict const bad = until([&] {
      if (!all_sent) {
        sent const k = ranks[from]->send(to, s, std::span<std::byte const>(out).subspan(sent_bytes), granule);
        sent_bytes += k.bytes;
        all_sent = k.accepted && sent_bytes == bytes;
      }
      if (!all_got) {
        std::byte* const place = placed ? in.data() + got : nullptr;
        if (chunk const c = ranks[to]->view(from, s, {bytes - got, granule, place})) {
          std::copy_n(c.data, c.bytes, in.data() + got);
          got += c.bytes;
          ranks[to]->release(from, s);
          all_got = got == bytes;
        }
      }
      return (all_sent && all_got) || ranks[from]->fault() || ranks[to]->fault();
    });
    return !bad.empty() ? bad : !all_got ? describe_fault(ranks[to]->fault()) : in == out ? "" : "other bytes arrive";
  }

  std::vector<std::unique_ptr<tcp>> ranks;
};

/// A world for the laws whose transports have options.
template <class Options>
struct tcp_world_with {
  using transport = tcp;

  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return thread_ranks::run(n, [&](auto& meet) -> verdict {
      tcp t(meet, Options::get());
      return f(t);
    });
  }
};

}  // namespace tutti::support
