// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport.hpp>

#include <poll.h>

/// The laws of sleeping on a transport's descriptor. W is described in transport.hpp.
namespace tutti::laws {

/// Sleeps until `done()`, as a waiting rank with nothing else to do would: probes once more after `arm`. There is no
/// timeout, which would hide a lost wake-up.
template <class T, class Condition>
verdict sleep_until(T& t, Condition&& condition) {
  bool late = false;
  for (;;) {
    t.poll();
    bool const is_over = condition();
    if (late) {
      return is_over || t.fault() ? "a wake-up was lost" : "slept for 20 s and nothing came";
    }
    if (is_over) {
      return "";
    }
    if (fault const f = t.fault()) {
      return support::describe_fault(f);
    }
    int const bell = t.arm();
    t.poll();
    bool const ready = condition();
    if (!ready && !t.fault()) {
      pollfd event{bell, POLLIN, 0};
      late = ::poll(&event, 1, 20'000) == 0;
    }
    t.disarm();
    if (ready) {
      return "";
    }
  }
}

/// Ranks pass messages round and sleep until each message, and each release, wakes them.
template <class W>
void sleepers_are_woken(rank_type n, std::uint32_t rounds, std::size_t bytes) {
  check_all(W::run(n, [&](auto& t) -> verdict {
    rank_type const next = (t.rank() + 1) % n;
    rank_type const previous = (t.rank() + n - 1) % n;
    std::vector<std::byte> const data(bytes);
    verdict bad;
    for (std::uint32_t k = 0; k < rounds && bad.empty(); ++k) {
      flow const s{k % lane_count, k};
      t.begin(s, a_call(bytes));
      auto const send = [&] {
        send_result last;
        std::size_t sent_bytes = 0;
        while (sent_bytes != bytes && bad.empty()) {
          bad = sleep_until(t, [&] {
            last = t.send(next, s, std::span(data).subspan(sent_bytes), 1);
            sent_bytes += last.bytes;
            return last.is_accepted;
          });
        }
        if (bad.empty()) {
          bad = sleep_until(t, [&] { return t.is_released(next, s, last.release_ticket); });
        }
      };
      auto const receive = [&] {
        for (std::size_t received_bytes = 0; received_bytes != bytes && bad.empty();) {
          bad = sleep_until(t, [&] {
            chunk const c = t.view(previous, s, {bytes - received_bytes, 1, nullptr});
            received_bytes += c.bytes;
            if (c) {
              t.release(previous, s);
            }
            return static_cast<bool>(c);
          });
        }
      };
      if (t.rank() == 0) {
        send();
        receive();
      } else {
        receive();
        send();
      }
      t.end(s);
    }
    if (!bad.empty()) {
      t.revoke({failure::cancelled, t.rank(), t.rank()});
    }
    return bad;
  }));
}

/// A release wakes the sender that waits for its buffer, though no message accompanies it.
template <class W>
void releases_wake(std::uint32_t rounds, std::size_t bytes) {
  check_all(W::run(2, [&](auto& t) -> verdict {
    std::vector<std::byte> const data(bytes);
    verdict bad;
    for (std::uint32_t k = 0; k < rounds && bad.empty(); ++k) {
      flow const s{0, k};
      t.begin(s, a_call(bytes));
      if (t.rank() == 0) {
        send_result last;
        for (std::size_t sent_bytes = 0; sent_bytes != bytes && bad.empty(); sent_bytes += last.bytes) {
          bad =
              sleep_until(t, [&] { return (last = t.send(1, s, std::span(data).subspan(sent_bytes), 1)).is_accepted; });
        }
        bad = !bad.empty() ? bad : sleep_until(t, [&] { return t.is_released(1, s, last.release_ticket); });
        bad = !bad.empty() ? bad : sleep_until(t, [&] { return t.send(1, s, {}, 1).is_accepted; });
      } else {
        for (int i = 0; i < 3; ++i) {
          support::give_way();  // lets the sender fall asleep
        }
        for (bool more = true; more && bad.empty();) {  // ends with the message of no bytes
          bad = sleep_until(t, [&] {
            chunk const c = t.view(0, s, {bytes, 1, nullptr});
            if (c) {
              more = c.bytes != 0;
              t.release(0, s);
            }
            return static_cast<bool>(c);
          });
        }
      }
      t.end(s);
    }
    if (!bad.empty()) {
      t.revoke({failure::cancelled, t.rank(), t.rank()});
    }
    return bad;
  }));
}

/// A fault wakes all ranks, and so does the departure of a peer.
template <class W>
void sleepers_learn_of_faults(rank_type n) {
  for (bool const leaves : {false, true}) {
    check_all(W::run(n, [&](auto& t, auto& meet) -> verdict {
      flow const s{0, 0};
      t.begin(s, a_call(1));
      if (t.rank() == 0) {
        for (int i = 0; i < 50; ++i) {
          support::give_way();  // lets the others fall asleep
        }
        if (!leaves) {
          t.revoke({failure::deadline, 0, 0});
          meet.exchange("");  // a departure would wake them, too
        }
        return "";
      }
      verdict const v = sleep_until(t, [&] { return static_cast<bool>(t.view(0, s, {1, 1, nullptr})); });
      if (!leaves) {
        meet.exchange("");
      }
      return v.starts_with(leaves ? "fault(peer lost, culprit 0" : "fault(deadline passed, culprit 0") ? ""
                                                                                                       : "woken: " + v;
    }));
  }
}

}  // namespace tutti::laws
