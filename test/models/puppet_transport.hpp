// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace models {

using tutti::rank_type;

/// A rendezvous for worlds whose ranks are all run by one thread: every rank contributes the same data.
class echo_rendezvous {
 public:
  echo_rendezvous(rank_type rank, rank_type size) : rank_(rank), size_(size) {}
  [[nodiscard]] rank_type rank() const { return rank_; }
  [[nodiscard]] rank_type size() const { return size_; }
  [[nodiscard]] std::vector<std::string> exchange(std::string_view text) {
    return std::vector<std::string>(size_, std::string(text));
  }

 private:
  rank_type rank_;
  rank_type size_;
};
static_assert(tutti::rendezvous<echo_rendezvous>);

/// State shared by the puppets of one world. The driving thread sets `random`, which decides when each rank sees what:
/// any interleaving that a real machine could produce, repeatably.
struct puppet_stage {
  struct message {
    std::vector<std::byte> copy;
    std::byte const* shared_data = nullptr;
    std::size_t bytes = 0;
    std::byte* back = nullptr;
    bool is_written_back = false;  ///< the receiver may have written its result to `back`
  };
  struct edge {
    std::deque<message> under_way;
    std::byte* lent_place = nullptr;  ///< memory that the receiver may write
    std::uint64_t sent_count = 0;
    std::uint64_t released_count = 0;
  };

  explicit puppet_stage(rank_type n, std::uint64_t seed) : size(n), edges(std::size_t{n} * n), random(seed * 2 + 1) {}

  edge& at(rank_type sender, rank_type receiver, std::uint32_t lane) {
    return edges[std::size_t{sender} * size + receiver][lane];
  }
  /// True one time in `n`.
  bool chance(std::uint64_t n) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33) % n == 0;
  }

  rank_type size;
  std::vector<std::array<edge, tutti::lane_count>> edges;
  std::uint64_t random;
  bool shares_long = true;     ///< long messages are read in place, as late as possible
  bool writes_places = false;  ///< messages are written to the receiver's place until they are whole
  std::size_t room = 16;       ///< the most bytes that are copied at a time when memory is not shared
  std::size_t depth = 8;       ///< messages under way on an edge
  tutti::fault first_fault{};
};

/// A transport without threads or waiting, whose stage chooses every delay. Messages are seen late, at random, and
/// always read from the sender's memory. A lent block is overwritten as soon as it has been read. A message that is
/// declared a repetition is not read again. The place given for a message is written at any time until the message is
/// whole, as a device would.
class puppet {
 public:
  static constexpr std::string_view name = "puppet";
  static constexpr bool in_process = true;
  struct options {
    puppet_stage* stage = nullptr;
  };

  template <tutti::rendezvous M>
  explicit puppet(M& meet, options const& o) : stage_(o.stage), rank_(meet.rank()), size_(meet.size()) {}

  [[nodiscard]] rank_type rank() const { return rank_; }
  [[nodiscard]] rank_type size() const { return size_; }
  void begin(tutti::flow, tutti::call const&) {}
  void end(tutti::flow) {}
  void next_message(tutti::flow s, bool is_repeat) {
    last_message& m = last_[s.lane];
    m.bytes.resize(is_repeat ? m.bytes.size() : 0);
    m.is_repeat = is_repeat;
    m.sent_bytes = 0;
  }

  [[nodiscard]] bool shares(rank_type, tutti::flow, std::span<std::byte const> bytes) const {
    return stage_->shares_long && bytes.size() > 8;
  }

  tutti::send_result send(rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t granule) {
    write_places();
    auto& e = stage_->at(rank_, peer, s.lane);
    if (e.sent_count - e.released_count >= stage_->depth || stage_->chance(4)) {
      return {};
    }
    ++e.sent_count;
    if (shares(peer, s, bytes)) {
      e.under_way.push_back({{}, bytes.data(), bytes.size()});
      last_[s.lane].copy_of(bytes);
      return {true, bytes.size(), e.sent_count};
    }
    std::size_t const room = stage_->room < granule ? granule : stage_->room - stage_->room % granule;
    bytes = bytes.first(bytes.size() < room ? bytes.size() : room);
    e.under_way.push_back({last_[s.lane].copy_of(bytes), nullptr, bytes.size()});
    return {true, bytes.size(), 0};
  }
  tutti::send_result lend(rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t granule,
                          std::byte* back) {
    tutti::send_result const result = send(peer, s, bytes, granule);
    if (result.release_ticket != 0) {
      stage_->at(rank_, peer, s.lane).under_way.back().back = back;
      landing_of(peer, s).lent_place = back;
    }
    return result;
  }
  tutti::send_result give_back(rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t granule) {
    std::byte*& place = stage_->at(peer, rank_, s.lane).lent_place;
    auto& e = stage_->at(rank_, peer, s.lane);
    if (place == nullptr) {
      return send(peer, s, bytes, granule);
    }
    if (e.sent_count - e.released_count >= stage_->depth || stage_->chance(4)) {
      return {};
    }
    ++e.sent_count;
    if (place != bytes.data()) {
      std::memcpy(place, bytes.data(), bytes.size());
    }
    e.under_way.push_back({{}, std::exchange(place, nullptr), bytes.size()});
    last_[s.lane].copy_of(bytes);
    return {true, bytes.size(), 0};
  }
  [[nodiscard]] std::byte* result_place(rank_type peer, tutti::flow s) {
    auto& m = stage_->at(peer, rank_, s.lane).under_way.front();
    m.is_written_back = m.back != nullptr;
    return m.back;
  }
  bool is_released(rank_type peer, tutti::flow s, tutti::ticket k) {
    write_places();
    return !stage_->chance(3) && stage_->at(rank_, peer, s.lane).released_count >= k;
  }
  tutti::chunk view(rank_type peer, tutti::flow s, tutti::receive_request const& w) {
    auto& e = stage_->at(peer, rank_, s.lane);
    landing& target = landing_of(peer, s);
    bool const writes_place = stage_->writes_places && w.place != nullptr && w.place != target.lent_place;
    target.rest = writes_place ? std::span(w.place, w.bytes) : std::span<std::byte>();
    write_places();
    if (e.under_way.empty() || stage_->chance(2)) {
      return {};
    }
    auto const& m = e.under_way.front();
    static constexpr std::byte empty_message{};
    std::byte const* const data = m.shared_data != nullptr ? m.shared_data
                                  : m.copy.empty()         ? &empty_message
                                                           : m.copy.data();
    if (target.rest.empty()) {
      return {data, m.bytes};
    }
    std::memcpy(target.rest.data(), data, m.bytes);
    std::byte const* const written_place = target.rest.data();
    target.rest = target.rest.subspan(m.bytes);
    write_places();
    return {written_place, m.bytes};
  }
  void release(rank_type peer, tutti::flow s) {
    write_places();
    auto& e = stage_->at(peer, rank_, s.lane);
    if (landing& target = landing_of(peer, s); e.under_way.front().shared_data == target.lent_place) {
      target.lent_place = nullptr;
    }
    if (auto const& m = e.under_way.front(); m.back != nullptr) {
      e.lent_place = m.back;
      if (!m.is_written_back) {
        std::memset(m.back, 0xee, m.bytes);
      }
    }
    e.under_way.pop_front();
    ++e.released_count;
  }
  void poll() {}
  int arm() { return -1; }
  void disarm() {}
  [[nodiscard]] tutti::time_point now() const { return {}; }
  [[nodiscard]] tutti::fault fault() const { return stage_->first_fault; }
  void probe() {}
  void revoke(tutti::fault cause) { stage_->first_fault = cause; }
  void quiesce() {}

 private:
  /// The content of the previous message, which is sent again if the next one is declared a repetition.
  struct last_message {
    std::vector<std::byte> bytes;
    bool is_repeat = false;
    std::size_t sent_bytes = 0;  ///< bytes sent of the current message

    std::vector<std::byte> copy_of(std::span<std::byte const> part) {
      if (!is_repeat) {
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
      auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(sent_bytes);
      sent_bytes += part.size();
      return {first, first + static_cast<std::ptrdiff_t>(part.size())};
    }
  };

  /// The rest of a message that is written to its place.
  struct landing {
    rank_type peer;
    std::uint32_t lane;
    std::span<std::byte> rest{};
    std::byte* lent_place = nullptr;  ///< the block that the peer itself writes
  };
  landing& landing_of(rank_type peer, tutti::flow s) {
    for (landing& place : places_) {
      if (place.peer == peer && place.lane == s.lane) {
        return place;
      }
    }
    return places_.emplace_back(peer, s.lane);
  }
  void write_places() {
    for (landing const& place : places_) {
      std::fill(place.rest.begin(), place.rest.end(), std::byte{0xdd});
    }
  }

  puppet_stage* stage_;
  rank_type rank_;
  rank_type size_;
  std::vector<landing> places_;
  std::array<last_message, tutti::lane_count> last_;
};
static_assert(tutti::lends<puppet>);
static_assert(tutti::reuses_copies<puppet>);

}  // namespace models
