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

/// Receives a message of this many bytes into `destination`; counts in `there_already` the bytes that the transport had
/// put there.
template <class T>
[[nodiscard]] verdict take_message(T& t, rank_type sender, flow s, std::size_t bytes, std::byte* destination,
                                   std::size_t& there_already) {
  std::size_t byte_count = 0;
  there_already = 0;
  return support::drive_until(t, [&] {
    while (byte_count != bytes) {
      chunk const c = t.view(sender, s, {bytes - byte_count, 1, destination + byte_count});
      if (!c) {
        return false;
      }
      if (c.data == destination + byte_count) {
        there_already += c.bytes;
      } else {
        std::memcpy(destination + byte_count, c.data, c.bytes);
      }
      byte_count += c.bytes;
      t.release(sender, s);
    }
    return true;
  });
}

/// Sends a whole message by calling `send(bytes)` until all is accepted.
template <class T, class Send>
[[nodiscard]] verdict hand_over(T& t, std::span<std::byte const> bytes, ticket& last_ticket, Send send) {
  last_ticket = 0;
  return support::drive_until(t, [&] {
    while (!bytes.empty()) {
      send_result const result = send(bytes);
      if (!result.is_accepted) {
        return false;
      }
      last_ticket = result.release_ticket;
      bytes = bytes.subspan(result.bytes);
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
        reachable<transport_type> lent_memory(t, bytes);
        reachable<transport_type> other(t, bytes);
        std::byte* const back = in_place ? lent_memory.data() : other.data();
        std::vector<std::byte> message(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
          lent_memory.data()[i] = support::pattern(number + t.rank(), i);
        }
        t.begin(s, a_call(bytes));
        std::span<std::byte const> const whole{lent_memory.data(), bytes};
        ticket lend_ticket = 0;
        std::size_t direct_bytes = 0;
        verdict bad = hand_over(t, whole, lend_ticket, [&](std::span<std::byte const> rest) {
          return rest.size() == bytes ? t.lend(peer, s, rest, 1, back) : t.send(peer, s, rest, 1);
        });
        if (!bad.empty() || !(bad = take_message(t, peer, s, bytes, message.data(), direct_bytes)).empty()) {
          return bad;
        }
        for (std::size_t i = 0; i < bytes; ++i) {
          if (message[i] != support::pattern(number + peer, i)) {
            return "a message that was lent arrived changed";
          }
          message[i] = made_of(number + peer, i);
        }
        ticket return_ticket = 0;
        bad = hand_over(t, message, return_ticket, [&](std::span<std::byte const> rest) {
          return rest.size() == bytes ? t.give_back(peer, s, rest, 1) : t.send(peer, s, rest, 1);
        });
        if (!bad.empty() || !(bad = take_message(t, peer, s, bytes, back, direct_bytes)).empty()) {
          return bad;
        }
        for (std::size_t i = 0; i < bytes; ++i) {
          if (back[i] != made_of(number + t.rank(), i)) {
            return "what was given back is not what was made";
          }
        }
        if (bytes >= by_itself_from && direct_bytes != bytes) {
          return "what was given back had to be copied";
        }
        bad = support::drive_until(t, [&] {
          return (lend_ticket == 0 || t.is_released(peer, s, lend_ticket)) &&
                 (return_ticket == 0 || t.is_released(peer, s, return_ticket));
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
    reachable<transport_type> lent_memory(t, bytes);
    std::vector<std::byte> message(bytes);
    std::memset(lent_memory.data(), 1, bytes);
    t.begin(s, a_call(bytes));
    if (t.rank() == 0) {
      ticket lend_ticket = 0;
      verdict const bad = hand_over(t, {lent_memory.data(), bytes}, lend_ticket, [&](std::span<std::byte const> rest) {
        return t.lend(1, s, rest, 1, lent_memory.data());
      });
      meet.exchange("");
      return bad;
    }
    std::size_t direct_bytes = 0;
    verdict const bad = take_message(t, 0, s, bytes, message.data(), direct_bytes);
    meet.exchange("");
    if (!bad.empty()) {
      return bad;
    }
    fault const observed_fault = await_fault(t);
    if (t.give_back(0, s, message, 1).is_accepted) {
      return "memory that was taken back has been written";
    }
    return expect(observed_fault, failure::cancelled, 0);
  }));
}

}  // namespace tutti::laws
