// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/traffic.hpp>

#include <boost/test/unit_test.hpp>

/// The laws of a transport whose peers are all alive. A world W runs ranks: `W::run(n, f)` calls `f(transport&)`, or
/// `f(transport&, rendezvous&)` if `f` takes that, on each of n ranks and returns their verdicts; `W::transport` is
/// the type.
/// The laws about peers that fail or sleep are in transport_failure.hpp and transport_sleep.hpp.
namespace tutti::laws {

using support::job;
using support::planned_message;
using support::verdict;

/// Ranks made by `Ranks` (threads or processes) and joined by a transport.
template <class Transport, class Ranks>
struct world {
  using transport = Transport;

  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return Ranks::run(n, [&](auto& meet) -> verdict {
      Transport t(meet);
      return apply(f, t, meet);
    });
  }

 private:
  template <class F, class Meet>
  static verdict apply(F const& f, Transport& t, Meet& meet) {
    if constexpr (std::is_invocable_v<F const&, Transport&, Meet&>) {
      return f(t, meet);
    } else {
      return f(t);
    }
  }
};

/// Asserts that no rank has a complaint. Called by the main thread.
inline void check_all(std::vector<verdict> const& verdicts) {
  for (std::size_t r = 0; r < verdicts.size(); ++r) {
    BOOST_TEST(verdicts[r] == "", "rank " << r << ": " << verdicts[r]);
  }
}

[[nodiscard]] inline call a_call(std::uint64_t count) {
  call c = make_call(operation_kind::allreduce, "float32", "sum", "ring");
  c.count = count;
  return c;
}

/// The job of a rank that sends the same messages to all others on one flow.
[[nodiscard]] inline job all_to_all_messages(rank_type me, rank_type n, flow s,
                                             std::vector<planned_message> const& sizes) {
  job j{s, a_call(s.number), {}, {}};
  for (rank_type ahead = 1; ahead < n; ++ahead) {
    for (planned_message p : sizes) {
      p.peer = (me + ahead) % n;
      j.outgoing.push_back(p);
      p.peer = (me + n - ahead) % n;
      j.incoming.push_back(p);
    }
  }
  return j;
}

/// A world whose ranks are connected already. There a law may expect that a short message is accepted at once, which
/// is not so while a connection is being established.
template <class Transport, class Ranks>
struct world_with_connections {
  using transport = Transport;

  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f, typename Transport::options const& options = {}) {
    return Ranks::run(n, [&](auto& meet) -> verdict {
      Transport t(meet, options);
      verdict const bad = support::run(t, {all_to_all_messages(t.rank(), n, {7, 0}, {{0, 1}})});
      return bad.empty() ? f(t, meet) : bad;
    });
  }
};

/// Messages of any size arrive once, whole and in the order sent. A sender overwrites its buffer as soon as the
/// transport says that it is free.
template <class W>
void delivers_everything_in_order(rank_type n, std::size_t largest) {
  check_all(W::run(n, [&](auto& t) {
    std::vector<planned_message> sizes;
    for (std::size_t const bytes : std::initializer_list<std::size_t>{
             0, 1, 4, 47, 48, 49, 64, 95, 0, 96, 97, 1000, 4096, 32768, 32769, 100'003, 3, 1 << 20, 5 << 20}) {
      if (bytes <= largest) {
        sizes.push_back({0, bytes});
      }
    }
    return support::run(t, {all_to_all_messages(t.rank(), t.size(), {0, 0}, sizes)});
  }));
}

/// No chunk, and no part that `send` takes, ends within a granule.
template <class W>
void keeps_granules_whole() {
  check_all(W::run(2, [&](auto& t) {
    std::vector<planned_message> const sizes{{0, 12 * 30'000, 12},   {0, 48, 24}, {0, 7 * 7, 7},
                                             {0, 1000 * 1001, 1000}, {0, 24, 24}, {0, 900'003, 300'001}};
    return support::run(t, {all_to_all_messages(t.rank(), t.size(), {1, 0}, sizes)});
  }));
}

/// Many flows are in flight on all lanes; each rank serves them in its own order.
template <class W>
void keeps_flows_apart(rank_type n, std::uint32_t flows) {
  check_all(W::run(n, [&](auto& t) {
    std::vector<job> jobs;
    for (std::uint32_t number = 0; number < flows; ++number) {
      std::vector<planned_message> const sizes{{0, number % 110}, {0, 4, 4}, {0, number * 37 % 5000}};
      jobs.push_back(all_to_all_messages(t.rank(), t.size(), {number % lane_count, number}, sizes));
    }
    std::uint32_t dice = t.rank() * 7919 + 1;
    return support::run(t, jobs, [&dice](auto& flying) {
      for (std::size_t i = flying.size(); i > 1; --i) {
        dice = dice * 1664525U + 1013904223U;
        std::swap(flying[i - 1], flying[(dice >> 8) % i]);
      }
    });
  }));
}

/// A lane that is not read takes a bounded amount, and blocks no other lane.
template <class W>
void full_lanes_hold_up_no_other(std::size_t message_bytes, std::size_t most_bytes) {
  check_all(W::run(2, [&](auto& t) -> verdict {
    std::vector<std::byte> const bytes(message_bytes);
    std::vector<ticket> tickets;
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      t.begin({lane, 5}, a_call(1));
    }
    if (t.rank() == 1) {  // reads lane 1 first, then lane 0 until a message of no bytes
      verdict bad = support::drive_until(t, [&] { return static_cast<bool>(t.view(0, {1, 5}, {1, 1, nullptr})); });
      if (!bad.empty()) {
        return bad;
      }
      t.release(0, {1, 5});
      std::size_t total = 0;
      for (bool more = true; more && bad.empty();) {
        bad = support::drive_until(t, [&] {
          chunk const c = t.view(0, {0, 5}, {bytes.size(), 1, nullptr});
          if (c) {
            more = c.bytes != 0;
            total += c.bytes;
            t.release(0, {0, 5});
          }
          return static_cast<bool>(c);
        });
      }
      return !bad.empty() ? bad : total % bytes.size() == 0 ? "" : "bytes are missing";
    }
    std::size_t accepted_bytes = 0;
    std::size_t refusal_count = 0;
    std::size_t offset = 0;
    while (accepted_bytes < most_bytes && refusal_count < 200) {
      send_result const s = t.send(1, {0, 5}, std::span(bytes).subspan(offset), 1);
      accepted_bytes += s.bytes;
      offset = (offset + s.bytes) % bytes.size();
      refusal_count = s.is_accepted ? 0 : refusal_count + 1;
      if (s.release_ticket != 0) {
        tickets.push_back(s.release_ticket);
      }
      t.poll();
      support::give_way();
    }
    if (accepted_bytes >= most_bytes) {
      return "took " + std::to_string(accepted_bytes) + " bytes that are not read";
    }
    std::byte const mark{1};
    verdict bad = support::drive_until(t, [&] { return t.send(1, {1, 5}, {&mark, 1}, 1).is_accepted; });
    while (bad.empty() && offset != 0) {
      send_result const s = t.send(1, {0, 5}, std::span(bytes).subspan(offset), 1);
      offset = (offset + s.bytes) % bytes.size();
      if (s.release_ticket != 0) {
        tickets.push_back(s.release_ticket);
      }
      bad = support::drive_until(t, [] { return true; });
      t.poll();
    }
    if (bad.empty()) {
      bad = support::drive_until(t, [&] { return t.send(1, {0, 5}, {}, 1).is_accepted; });
    }
    for (ticket const k : tickets) {
      bad = !bad.empty() ? bad : support::drive_until(t, [&] { return t.is_released(1, {0, 5}, k); });
    }
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      t.end({lane, 5});
    }
    return bad;
  }));
}

/// Until it is released, a message can be viewed again and is unchanged.
template <class W>
void views_are_stable_until_released(std::size_t bytes) {
  check_all(W::run(2, [&](auto& t) -> verdict {
    flow const s{3, 9};
    t.begin(s, a_call(2));
    std::vector<std::byte> data(bytes);
    verdict bad;
    if (t.rank() == 0) {
      for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = support::pattern(1, i);
      }
      send_result k;
      bad = support::drive_until(t, [&] { return (k = t.send(1, s, data, 1)).is_accepted; });
      if (bad.empty() && k.bytes != bytes) {
        return "so short a message is taken as a whole";
      }
      bad = !bad.empty() ? bad : support::drive_until(t, [&] { return t.is_released(1, s, k.release_ticket); });
    } else {
      chunk first;
      bad = support::drive_until(t, [&] { return static_cast<bool>(first = t.view(0, s, {bytes, 1, nullptr})); });
      for (int again = 0; again < 1000 && bad.empty(); ++again) {
        t.poll();
        chunk const c = t.view(0, s, {bytes, 1, nullptr});
        if (c.data != first.data || c.bytes != first.bytes || c.data[c.bytes - 1] != support::pattern(1, c.bytes - 1)) {
          bad = "another view of the same message differs";
        }
      }
      for (std::size_t received_bytes = 0; received_bytes < bytes && bad.empty();) {
        bad = support::drive_until(t, [&] {
          return static_cast<bool>(first = t.view(0, s, {bytes - received_bytes, 1, nullptr}));
        });
        received_bytes += first.bytes;
        t.release(0, s);
      }
    }
    t.end(s);
    return bad;
  }));
}

}  // namespace tutti::laws
