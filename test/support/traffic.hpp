// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace tutti::support {

/// Byte i of the message with this seed.
[[nodiscard]] constexpr std::byte pattern(std::uint64_t seed, std::size_t i) {
  return static_cast<std::byte>((seed * 0x9e3779b97f4a7c15U >> 56) + i * 7 + (i >> 8) * 13);
}

/// Two periods of 7 i, modulo 256.
inline constexpr auto multiples_of_7 = [] {
  std::array<std::byte, 512> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::byte>(7 * i);
  }
  return table;
}();

/// Bytes i, i + 1 ... of the message with this seed, to the next multiple of 256. They are copied and compared by
/// functions of the C library: a loop over bytes takes most of the time of a test that is not optimised.
[[nodiscard]] constexpr std::span<std::byte const> pattern_part(std::uint64_t seed, std::size_t i) {
  std::size_t const offset = static_cast<std::size_t>(seed * 0x9e3779b97f4a7c15U >> 56) + (i >> 8) * 13;
  return std::span(multiples_of_7).subspan((183 * offset + i) % 256, 256 - i % 256);  // 7 * 183 is 1, modulo 256
}
static_assert(pattern_part(3, 1000).size() == 24 && pattern_part(3, 1000)[23] == pattern(3, 1023));

[[nodiscard]] inline std::uint64_t seed_of(rank_type sender, rank_type receiver, flow s, std::size_t k) {
  return ((std::uint64_t{sender} * 67 + receiver) * 41 + s.lane) * 100'003 + s.number * 977ULL + k;
}

struct planned_message {
  rank_type peer;
  std::size_t bytes;
  std::size_t granule = 1;
};

/// The messages that one rank sends and receives on one flow.
struct job {
  flow message_flow;
  call operation;
  std::vector<planned_message> outgoing;
  std::vector<planned_message> incoming;
};

/// Does one job as an engine would: step by step, without waiting. Checks every byte that arrives, and overwrites its
/// own buffers as soon as the transport says that they are free.
template <class T>
class courier {
 public:
  explicit courier(job work)
      : work_(std::move(work)),
        complete_(work_.incoming.size()),
        received_bytes_(work_.incoming.size()),
        places_(work_.incoming.size()) {
    for (planned_message const& p : work_.outgoing) {
      buffers_.emplace_back(p.bytes + 1);  // messages start at an odd address
    }
  }

  [[nodiscard]] flow message_flow() const { return work_.message_flow; }
  [[nodiscard]] verdict const& complaint() const { return complaint_; }

  /// Returns true once all is sent, received and free again.
  bool advance(T& t) {
    if (!is_open_) {
      t.begin(work_.message_flow, work_.operation);
      for (std::size_t k = 0; k < work_.outgoing.size(); ++k) {
        fill(t, k);
      }
      is_open_ = true;
    }
    send(t);
    reclaim(t);
    bool const is_received = receive(t);
    if (sending_ != work_.outgoing.size() || !pending_releases_.empty() || !is_received) {
      return false;
    }
    t.end(work_.message_flow);
    return true;
  }

 private:
  struct pending_release {
    ticket release_ticket;
    rank_type peer;
    std::span<std::byte> bytes;
  };

  [[nodiscard]] std::span<std::byte> buffer(std::size_t k) { return std::span(buffers_[k]).subspan(1); }
  [[nodiscard]] static std::size_t place_in_order(std::vector<planned_message> const& messages, std::size_t k) {
    return static_cast<std::size_t>(
        std::count_if(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(k),
                      [&](planned_message const& p) { return p.peer == messages[k].peer; }));
  }
  static void scribble(std::span<std::byte> bytes) { std::fill(bytes.begin(), bytes.end(), std::byte{0xdd}); }

  void fill(T& t, std::size_t k) {
    std::uint64_t const seed =
        seed_of(t.rank(), work_.outgoing[k].peer, work_.message_flow, place_in_order(work_.outgoing, k));
    std::span<std::byte> const message = buffer(k);
    for (std::size_t i = 0; i < message.size();) {
      std::span<std::byte const> const part = pattern_part(seed, i);
      std::size_t const bytes = std::min(part.size(), message.size() - i);
      std::memcpy(&message[i], part.data(), bytes);
      i += bytes;
    }
  }

  void send(T& t) {
    while (sending_ != work_.outgoing.size()) {
      planned_message const& p = work_.outgoing[sending_];
      std::span<std::byte> const rest = buffer(sending_).subspan(accepted_bytes_);
      send_result const s = t.send(p.peer, work_.message_flow, rest, p.granule);
      if (!s.is_accepted) {
        return;
      }

      if (s.bytes > rest.size() || (s.bytes == 0 && !rest.empty())) {
        complaint_ = "send took " + std::to_string(s.bytes) + " of " + std::to_string(rest.size()) + " bytes";
        return;
      }
      if (s.release_ticket == 0) {
        scribble(rest.first(s.bytes));
      } else {
        pending_releases_.push_back({s.release_ticket, p.peer, rest.first(s.bytes)});
      }
      accepted_bytes_ += s.bytes;
      if (accepted_bytes_ == p.bytes) {
        accepted_bytes_ = 0;
        ++sending_;
      }
    }
  }

  void reclaim(T& t) {
    std::erase_if(pending_releases_, [&](pending_release const& l) {
      bool const is_free = t.is_released(l.peer, work_.message_flow, l.release_ticket);
      if (is_free) {
        scribble(l.bytes);
      }
      return is_free;
    });
  }

  bool receive(T& t) {
    bool is_complete = true;
    for (std::size_t k = 0; k < work_.incoming.size(); ++k) {
      if (complete_[k]) {
        continue;
      }
      is_complete = false;
      bool const is_first_of_peer = std::none_of(
          work_.incoming.begin(), work_.incoming.begin() + static_cast<std::ptrdiff_t>(k),
          [&](planned_message const& p) {
            return p.peer == work_.incoming[k].peer && !complete_[static_cast<std::size_t>(&p - work_.incoming.data())];
          });
      if (is_first_of_peer) {
        receive(t, k);
      }
    }
    return is_complete;
  }

  void receive(T& t, std::size_t k) {
    planned_message const& p = work_.incoming[k];
    std::uint64_t const seed = seed_of(p.peer, t.rank(), work_.message_flow, place_in_order(work_.incoming, k));
    if (k % 2 == 0) {  // a place, which is the transport's until the message is whole
      places_[k].resize(p.bytes);
    }
    while (!complete_[k]) {
      std::size_t const rest = p.bytes - received_bytes_[k];
      std::byte* const place = k % 2 == 0 && rest != 0 ? places_[k].data() + received_bytes_[k] : nullptr;
      chunk const c = t.view(p.peer, work_.message_flow, {rest, p.granule, place});
      if (!c) {
        return;
      }

      if (c.bytes > rest || c.bytes % p.granule != 0 || (c.bytes == 0 && rest != 0)) {
        complaint_ = "a chunk of " + std::to_string(c.bytes) + " bytes, " + std::to_string(rest) + " to come";
        return;
      }
      for (std::size_t i = 0; i < c.bytes;) {
        std::span<std::byte const> const part = pattern_part(seed, received_bytes_[k] + i);
        std::size_t const bytes = std::min(part.size(), c.bytes - i);
        if (std::memcmp(c.data + i, part.data(), bytes) != 0) {
          auto const equal_count = std::mismatch(part.begin(), part.end(), c.data + i).first - part.begin();
          complaint_ = "byte " + std::to_string(received_bytes_[k] + i + static_cast<std::size_t>(equal_count)) +
                       " of message " + std::to_string(k) + " from " + std::to_string(p.peer) + " is wrong";
          return;
        }
        i += bytes;
      }
      t.release(p.peer, work_.message_flow);
      received_bytes_[k] += c.bytes;
      complete_[k] = received_bytes_[k] == p.bytes;
    }
  }

  job work_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<pending_release> pending_releases_;
  std::size_t sending_ = 0;
  std::size_t accepted_bytes_ = 0;
  std::vector<bool> complete_;
  std::vector<std::size_t> received_bytes_;
  std::vector<std::vector<std::byte>> places_;
  verdict complaint_;
  bool is_open_ = false;
};

/// Yields to the other ranks; there may be more of them than processors.
inline void give_way() {
  std::this_thread::yield();
}

inline constexpr duration patience = std::chrono::seconds(40);

[[nodiscard]] inline verdict describe_fault(fault f) {
  return "fault(" + std::string(name(f.kind)) + ", culprit " + std::to_string(f.culprit) + ", reporter " +
         std::to_string(f.reporter) + ")";
}

/// Drives the transport until `condition()`. Returns "" or the failure.
template <class T, class Condition>
verdict drive_until(T& t, Condition&& condition) {
  time_point deadline = t.now() + patience;
  for (unsigned turn = 1; !condition(); ++turn) {
    if (fault const f = t.fault()) {
      return describe_fault(f);
    }
    t.poll();
    if (turn % 1024 == 0) {
      t.probe();
      if (t.now() > deadline) {
        return "waited too long";
      }
    }
    give_way();
  }
  return "";
}

/// Does jobs: on each lane in the given order, on different lanes at the same time, advanced in an order that
/// `shuffle(lanes in flight)` chooses.
template <class T, class Shuffle>
verdict run(T& t, std::vector<job> const& jobs, Shuffle&& shuffle) {
  std::vector<std::size_t> waiting;
  for (std::size_t i = jobs.size(); i-- != 0;) {
    waiting.push_back(i);
  }
  std::vector<courier<T>> flying;
  verdict complaint;
  verdict const wait_verdict = drive_until(t, [&] {
    for (std::size_t i = waiting.size(); i-- != 0;) {
      std::uint32_t const lane = jobs[waiting[i]].message_flow.lane;
      if (std::none_of(flying.begin(), flying.end(), [&](auto const& c) { return c.message_flow().lane == lane; })) {
        flying.emplace_back(jobs[waiting[i]]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    shuffle(flying);
    for (std::size_t i = flying.size(); i-- != 0 && complaint.empty();) {
      bool const is_done = flying[i].advance(t);
      complaint = flying[i].complaint();
      if (is_done) {
        flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return !complaint.empty() || (flying.empty() && waiting.empty());
  });
  verdict const result = complaint.empty() ? wait_verdict : complaint;
  if (!result.empty()) {  // peers may still be reading the buffers, which are destroyed here
    t.revoke({failure::cancelled, t.rank(), t.rank()});
    t.quiesce();
  }
  return result;
}
template <class T>
verdict run(T& t, std::vector<job> const& jobs) {
  return run(t, jobs, [](auto&) {});
}

}  // namespace tutti::support
