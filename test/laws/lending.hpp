// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport_failure.hpp>
#include <tutti/allocator.hpp>
#include <tutti/detail/engine/result_at_peer.hpp>

#include <cstring>

/// The laws of a transport that `lends`. W is described in transport.hpp.
namespace tutti::laws {

/// Memory that peers of this transport can reach.
template <class T>
class reachable {
 public:
  reachable(T& t, std::size_t bytes) : bytes_(bytes) {
    if constexpr (provides_memory<T>) {
      source_ = t.memory();
      data_ = static_cast<std::byte*>(source_->take(bytes));
    } else {
      data_ = static_cast<std::byte*>(::operator new(bytes));
    }
  }
  reachable(reachable const&) = delete;
  reachable& operator=(reachable const&) = delete;
  ~reachable() {
    if constexpr (provides_memory<T>) {
      source_->give(data_, bytes_);
    } else {
      ::operator delete(data_);
    }
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  tutti::intrusive_pointer<memory_source> source_;
  std::byte* data_;
};

/// The receiver's result for byte i of a message.
[[nodiscard]] inline std::byte made_of(std::uint64_t seed, std::size_t i) {
  return support::pattern(seed, i) ^ std::byte{0x5a};
}

/// Receives a message of this many bytes into `to`; counts in `there_already` the bytes that the transport had put
/// there.
template <class T>
[[nodiscard]] verdict take_message(T& t, rank_type from, flow s, std::size_t bytes, std::byte* to,
                                   std::size_t& there_already) {
  std::size_t done = 0;
  there_already = 0;
  return support::until(t, [&] {
    while (done != bytes) {
      chunk const c = t.view(from, s, {bytes - done, 1, to + done});
      if (!c) {
        return false;
      }
      if (c.data == to + done) {
        there_already += c.bytes;
      } else {
        std::memcpy(to + done, c.data, c.bytes);
      }
      done += c.bytes;
      t.release(from, s);
    }
    return true;
  });
}

/// Sends a whole message by calling `send(bytes)` until all is accepted.
template <class T, class Send>
[[nodiscard]] verdict hand_over(T& t, std::span<std::byte const> bytes, ticket& until, Send send) {
  until = 0;
  return support::until(t, [&] {
    while (!bytes.empty()) {
      send_result const taken = send(bytes);
      if (!taken.is_accepted) {
        return false;
      }
      until = taken.release_ticket;
      bytes = bytes.subspan(taken.bytes);
    }
    return true;
  });
}

/// Two ranks lend each other messages and give back results. A result arrives whole, in the place where it is wanted,
/// and from `by_itself_from` bytes on without help from the lender.
template <class W>
void what_is_lent_comes_back(std::initializer_list<std::size_t> sizes, std::size_t by_itself_from) {
  check_all(W::run(2, [&](auto& t) -> verdict {
    using transport_type = std::remove_cvref_t<decltype(t)>;
    rank_type const peer = 1 - t.rank();
    std::uint32_t number = 0;
    for (std::size_t const bytes : sizes) {
      for (bool const in_place : {true, false}) {
        flow const s{number % collective_lanes, number};
        ++number;
        reachable<transport_type> mine(t, bytes);
        reachable<transport_type> other(t, bytes);
        std::byte* const back = in_place ? mine.data() : other.data();
        std::vector<std::byte> made(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
          mine.data()[i] = support::pattern(number + t.rank(), i);
        }
        t.begin(s, a_call(bytes));
        std::span<std::byte const> const whole{mine.data(), bytes};
        ticket until = 0;
        std::size_t there = 0;
        verdict bad = hand_over(t, whole, until, [&](std::span<std::byte const> rest) {
          return rest.size() == bytes ? t.lend(peer, s, rest, 1, back) : t.send(peer, s, rest, 1);
        });
        if (!bad.empty() || !(bad = take_message(t, peer, s, bytes, made.data(), there)).empty()) {
          return bad;
        }
        for (std::size_t i = 0; i < bytes; ++i) {
          if (made[i] != support::pattern(number + peer, i)) {
            return "a message that was lent arrived changed";
          }
          made[i] = made_of(number + peer, i);
        }
        ticket answered = 0;
        bad = hand_over(t, made, answered, [&](std::span<std::byte const> rest) {
          return rest.size() == bytes ? t.give_back(peer, s, rest, 1) : t.send(peer, s, rest, 1);
        });
        if (!bad.empty() || !(bad = take_message(t, peer, s, bytes, back, there)).empty()) {
          return bad;
        }
        for (std::size_t i = 0; i < bytes; ++i) {
          if (back[i] != made_of(number + t.rank(), i)) {
            return "what was given back is not what was made";
          }
        }
        if (bytes >= by_itself_from && there != bytes) {
          return "what was given back had to be copied";
        }
        bad = support::until(t, [&] {
          return (until == 0 || t.is_released(peer, s, until)) && (answered == 0 || t.is_released(peer, s, answered));
        });
        if (!bad.empty()) {
          return bad;
        }
        t.end(s);
      }
    }
    return "";
  }));
}

/// A rank that leaves while a peer may write to its memory revokes the loan: the peer learns of it, and writes nothing
/// afterwards.
template <class W>
void leaving_takes_back_what_was_lent(std::size_t bytes) {
  check_all(W::run(2, [&](auto& t, auto& meet) -> verdict {
    using transport_type = std::remove_cvref_t<decltype(t)>;
    flow const s{0, 0};
    reachable<transport_type> mine(t, bytes);
    std::vector<std::byte> made(bytes);
    std::memset(mine.data(), 1, bytes);
    t.begin(s, a_call(bytes));
    if (t.rank() == 0) {
      ticket until = 0;
      verdict const bad = hand_over(t, {mine.data(), bytes}, until, [&](std::span<std::byte const> rest) {
        return t.lend(1, s, rest, 1, mine.data());
      });
      meet.exchange("");
      return bad;
    }
    std::size_t there = 0;
    verdict const bad = take_message(t, 0, s, bytes, made.data(), there);
    meet.exchange("");
    if (!bad.empty()) {
      return bad;
    }
    fault const seen = await_fault(t);
    if (t.give_back(0, s, made, 1).is_accepted) {
      return "memory that was taken back has been written";
    }
    return expect(seen, failure::cancelled, 0);
  }));
}

}  // namespace tutti::laws
