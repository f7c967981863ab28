// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport.hpp>
#include <support/thread_ranks.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tutti::support {

/// A rendezvous of ranks on one host, with a secret.
template <class Meet>
struct secret_rendezvous {
  static constexpr bool one_host = true;

  Meet& meet;
  world_secret key;

  [[nodiscard]] rank_type rank() const { return meet.rank(); }
  [[nodiscard]] rank_type size() const { return meet.size(); }
  std::vector<std::string> exchange(std::string_view text) { return meet.exchange(text); }
  [[nodiscard]] world_secret secret() const { return key; }
};
template <class Meet>
secret_rendezvous(Meet&, world_secret) -> secret_rendezvous<Meet>;
static_assert(shares_secret<secret_rendezvous<tutti::detail::thread_rendezvous>>);

/// The secret of test worlds.
inline world_secret const secret_of_tests = tutti::detail::make_secret("sixteen or more letters");

/// Ranks of `Ranks` (threads or processes) that share a secret.
template <class Ranks = thread_ranks>
struct secret_ranks {
  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return Ranks::run(n, [&](auto& meet) -> verdict {
      secret_rendezvous at{meet, secret_of_tests};
      return f(at);
    });
  }
};

/// Calls `poll()` until `is_done()`, for a generous time. Returns "" or the failure.
template <class Poll, class Condition>
[[nodiscard]] verdict poll_until(Poll const& poll, Condition&& is_done) {
  time_point const deadline = steady_now() + std::chrono::seconds(20);
  while (!is_done()) {
    poll();
    if (steady_now() > deadline) {
      return "waited too long";
    }
  }
  return "";
}

/// The ranks of a tcp world, all driven by this thread, so that a test sets the order in which they act.
struct tcp_ranks {
  explicit tcp_ranks(rank_type n, tcp_options const& o = {}, world_secret const& secret = {}) : ranks(n) {
    tutti::detail::thread_meeting place(n, std::chrono::seconds(30));
    std::vector<std::thread> threads;
    for (rank_type r = 0; r < n; ++r) {
      threads.emplace_back([&, r] {
        tutti::detail::thread_rendezvous at(place, r);
        secret_rendezvous meet{at, secret};
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

  /// Polls all ranks until `is_done()`, for a generous time. Returns "" or the failure.
  template <class Condition>
  verdict run_until(Condition&& is_done) {
    return poll_until([this] { poll(); }, is_done);
  }

  /// Delivers a message from one rank to another, which checks every byte.
  verdict deliver(rank_type sender, rank_type receiver, flow s, std::size_t bytes, std::size_t granule = 1,
                  bool has_place = false) {
    std::vector<std::byte> message(bytes);
    std::vector<std::byte> copy(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      message[i] = pattern(seed_of(sender, receiver, s, bytes), i);
    }
    std::size_t sent_bytes = 0;
    std::size_t received_bytes = 0;
    bool all_sent = false;
    bool all_received = false;
    verdict const bad = run_until([&] {
      if (!all_sent) {
        send_result const k =
            ranks[sender]->send(receiver, s, std::span<std::byte const>(message).subspan(sent_bytes), granule);
        sent_bytes += k.bytes;
        all_sent = k.is_accepted && sent_bytes == bytes;
      }
      if (!all_received) {
        std::byte* const place = has_place ? copy.data() + received_bytes : nullptr;
        if (chunk const c = ranks[receiver]->view(sender, s, {bytes - received_bytes, granule, place})) {
          std::copy_n(c.data, c.bytes, copy.data() + received_bytes);
          received_bytes += c.bytes;
          ranks[receiver]->release(sender, s);
          all_received = received_bytes == bytes;
        }
      }
      return (all_sent && all_received) || ranks[sender]->fault() || ranks[receiver]->fault();
    });
    return !bad.empty()      ? bad
           : !all_received   ? describe_fault(ranks[receiver]->fault())
           : copy == message ? ""
                             : "other bytes arrive";
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
