// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/circle.hpp>
#include <tutti/in_network/detail/multicast/passage.hpp>
#include <tutti/in_network/detail/multicast/receiving.hpp>
#include <tutti/in_network/detail/multicast/sending.hpp>
#include <tutti/in_network/detail/multicast/signs.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// One rank of a group: hands packets to its parts, and lets each lane go on, as the one that gives or one that gets.
///
/// That a rank has all is told by other means, which do not lose it (`has_all`, `finish`): a rank whose last packet is
/// lost may be elsewhere by then, and never look at this port again.
template <udp::port Port>
class member {
 public:
  using address = typename Port::address;

  struct terms {
    std::uint32_t nonce = 0;   ///< of the job: packets of others are ignored
    std::uint32_t window = 0;  ///< packets that are ever under way on a lane, the same on all ranks
  };

  /// @param all the addresses of the members, in rank order
  member(Port& at, terms const& t, rank_type me, std::vector<address> all, address group)
      : circle_{at, t.nonce, t.window, me, std::move(all), group},
        signs_(circle_),
        sending_(circle_),
        getting_(circle_) {
    for (passage& l : lanes_) {
      l.out.open(circle_.window, circle_.all.size());
      l.in.open(circle_.window);
      l.early.open(circle_.report_every());
    }
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] udp_multicast_counters const& counted() const noexcept { return circle_.counted; }
  /// Whether the network carries packets to the group. @pre `advance` has been called
  [[nodiscard]] multicast::signs<Port>& signs() noexcept { return signs_; }

  // --- messages

  void begin(flow s, std::uint32_t fingerprint) noexcept {
    passage& l = lanes_[s.lane];
    l.fingerprint = fingerprint;
    l.differs = no_rank;
  }
  /// @pre a helper's share is taken once in a flow; what it does is to copy
  void take_part(flow s, helper_part const& part) {
    passage& l = lanes_[s.lane];
    l.take_part(part, circle_.me);
    if (l.gives()) {
      l.out.begin(part);
    } else if (l.gets()) {
      getting_.begin(l, part.bytes);
    }
  }
  void give(std::uint32_t lane, std::byte const* from, time_point now) {
    lanes_[lane].out.give(from);
    sending_.push(lanes_[lane], lane, now);
    circle_.port.flush();
  }
  void want(std::uint32_t lane, std::byte* place) {
    getting_.want(lanes_[lane], lane, place);
    circle_.port.flush();
  }
  [[nodiscard]] bool is_wanted(std::uint32_t lane) const noexcept { return lanes_[lane].in.is_wanted(); }
  [[nodiscard]] chunk view(std::uint32_t lane, std::size_t granule) noexcept { return lanes_[lane].in.view(granule); }
  void release(std::uint32_t lane) noexcept { lanes_[lane].in.release(); }
  /// Whether this rank has all of what it gets.
  [[nodiscard]] bool has_all(std::uint32_t lane) const noexcept {
    return lanes_[lane].gets() && lanes_[lane].in.over();
  }
  /// A rank that has not said that it has all of what this one has sent all of; no_rank: there is none.
  [[nodiscard]] rank_type unfinished(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.gives() && l.out.all_sent() && !l.out.over() ? l.out.unfinished() : no_rank;
  }
  /// That rank has all.
  void finish(std::uint32_t lane, rank_type r) noexcept { sending_.finish(lanes_[lane], r); }
  /// Whether all ranks have what this one has given.
  [[nodiscard]] bool over(std::uint32_t lane) const noexcept {
    return !lanes_[lane].gives() || lanes_[lane].out.over();
  }
  void end(flow s) noexcept {
    sending_.end(lanes_[s.lane]);
    lanes_[s.lane].end();
  }
  /// Forgets all memory of the user.
  void drop() noexcept {
    for (passage& l : lanes_) {
      sending_.end(l);
      l.end();
    }
  }

  // --- what a lane waits for

  /// The rank that the lane waits for, or no_rank. A rank that has all still waits until the root has been told so.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.gives() ? l.out.last() : l.gets() ? l.root : no_rank;
  }
  /// The rank without which no more packets come, or are confirmed; or no_rank.
  [[nodiscard]] rank_type lacks(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.gives() || l.lacks() ? missing(lane) : no_rank;
  }
  /// Calls f(lane, rank) for all that lack packets of this rank's.
  template <class F>
  void each_behind(F f) const {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      if (lanes_[lane].gives()) {
        lanes_[lane].out.each_behind([&](rank_type r) { f(lane, r); });
      }
    }
  }
  /// A rank that said something else about a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differs(std::uint32_t lane) const noexcept { return lanes_[lane].differs; }

  // --- going on

  /// Takes what has come, and goes on with it; looks, if it is time to.
  void advance(time_point now) {
    // Others may send as fast as this rank reads.
    for (int rounds = 16; rounds != 0; --rounds) {
      if (circle_.port.drain([&](address const& from, std::span<std::byte const> bytes, bool congested) {
            take(from, bytes, congested, now);
          }) == 0) {
        break;
      }
    }
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      passage& l = lanes_[lane];
      l.gives() ? sending_.push(l, lane, now) : getting_.go_on(l, lane);
    }
    if (now - looked_ >= between_looks) {
      look(now);
    }
    circle_.port.flush();
  }
  /// Reports what has not been, and asks those that are silent.
  void look(time_point now) {
    looked_ = now;
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      passage& l = lanes_[lane];
      if (!l.gives()) {
        getting_.look(l, lane);
      } else if (l.out.under_way() != 0) {
        sending_.ask(l, lane, now);
      }
    }
    circle_.port.flush();
  }

 private:
  static constexpr duration between_looks = std::chrono::milliseconds(2);

  void take(address const& from, std::span<std::byte const> bytes, bool congested, time_point now) {
    udp::packet p;
    header const& h = p.head;
    if (seal_.read(bytes, p) != udp::reading::good || h.job != circle_.nonce || h.workers != circle_.all.size() ||
        h.slot > multicast::signs<Port>::slot || !(from == circle_.all[h.worker])) {
      ++circle_.counted.ignored;
      return;
    }
    if (h.worker == circle_.me) {
      return;  // a group gives back what is sent to it
    }
    if (h.slot == multicast::signs<Port>::slot) {
      return signs_.take(h);
    }
    passage& l = lanes_[h.slot];
    bool used = false;
    switch (h.kind) {
      case kind::share:
        l.congested = l.congested || congested;
        used = getting_.take_share(l, p);
        break;
      case kind::progress:
        used = sending_.take_progress(l, h.slot, p, now);
        break;
      case kind::ask:
        used = getting_.take_question(l, h.slot, h);
        break;
      default:
        break;
    }
    circle_.counted.ignored += used ? 0 : 1;
  }

  circle<Port> circle_;
  multicast::signs<Port> signs_;
  sending<Port> sending_;
  receiving<Port> getting_;
  udp::seal seal_;
  time_point looked_{};
  std::array<passage, collective_lanes> lanes_;
};

}  // namespace tutti::detail::multicast
