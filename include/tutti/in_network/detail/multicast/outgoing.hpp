// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/packetization.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// A message that this rank sends to a group, until every receiver has acknowledged it (`finish`). Lost packets are
/// sent again from the user's memory.
class outgoing {
 public:
  /// Destination of a repair.
  enum class repair {
    wait,   ///< not yet: the packet was sent a moment ago
    group,  ///< to the group: others are likely to lack the packet, too
    rank,   ///< to the rank that lacks it: the group has had it twice
  };

  /// @param window packets that may be in flight; called once, before all else
  void open(std::uint32_t window, std::size_t ranks) {
    packets_.resize(std::bit_ceil(window));
    fronts_.resize(ranks);
    contacts_.resize(ranks);
  }
  void begin(aggregation_part const& part) {
    layout_ = {part.bytes};
    source_ = nullptr;
    sent_count_ = 0;
    std::ranges::fill(fronts_, layout_.count());
    for (aggregation_worker const& worker : part.workers) {
      fronts_[worker.rank] = worker.receives ? 0 : layout_.count();
    }
    front_ = (std::ranges::min)(fronts_);
    std::ranges::fill(contacts_, time_point{});
  }
  void set_source(std::byte const* source) noexcept { source_ = source; }

  [[nodiscard]] bool has_source() const noexcept { return source_ != nullptr; }
  /// Number of packets that all ranks have.
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] std::uint32_t sent_count() const noexcept { return sent_count_; }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return sent_count_ - (std::min)(front_, sent_count_); }
  [[nodiscard]] bool is_complete() const noexcept { return front_ == layout_.count(); }
  /// True if another packet may be sent for the first time. @param window at most that of `open`
  [[nodiscard]] bool may_send(std::uint32_t window) const noexcept {
    return source_ != nullptr && sent_count_ < layout_.count() && sent_count_ - front_ < window;
  }
  [[nodiscard]] std::span<std::byte const> content(std::uint32_t i) const noexcept {
    return {source_ + packetization::offset(i), layout_.length(i)};
  }
  void count_sent(time_point now) noexcept { at(sent_count_++) = {now, now, false}; }

  /// Handles a report: a rank has the first `count` packets. The whole message is only acknowledged by `finish`,
  /// because reports may be lost.
  void confirm(rank_type rank, std::uint32_t count) noexcept {
    bool const was_last = fronts_[rank] == front_;
    fronts_[rank] = (std::max)(fronts_[rank], (std::min)({count, sent_count_, layout_.count() - 1}));
    if (was_last) {
      front_ = (std::ranges::min)(fronts_);
    }
  }
  /// Handles a rank's acknowledgement of the whole message.
  void finish(rank_type r) noexcept {
    fronts_[r] = layout_.count();
    front_ = (std::ranges::min)(fronts_);
  }
  /// Records that a rank was heard, or queried.
  void contact(rank_type r, time_point now) noexcept { contacts_[r] = now; }
  /// The time since which a lagging rank has been silent; not before its first missing packet was sent.
  [[nodiscard]] time_point silence_begin(rank_type r) const noexcept {
    return (std::max)(contacts_[r], packets_[fronts_[r] & (packets_.size() - 1)].first_sent);
  }
  [[nodiscard]] std::uint32_t front_of(rank_type r) const noexcept { return fronts_[r]; }
  /// Time at which packet i was sent, if it was sent once, else zero. @pre it is in flight, or was the last one to
  /// leave
  [[nodiscard]] time_point single_send_time(std::uint32_t i) const noexcept {
    packet const& p = packets_[i & (packets_.size() - 1)];
    return p.was_repeated ? time_point{} : p.send_time;
  }

  /// Chooses the repair for packet i, which a rank lacks. @pre it is in flight
  [[nodiscard]] repair choose_repair(std::uint32_t i, time_point now, duration delay) noexcept {
    packet& p = at(i);
    if (now - p.send_time < delay) {
      return repair::wait;
    }
    bool const was_repeated = p.was_repeated;
    p.send_time = now;
    p.was_repeated = true;
    return was_repeated ? repair::rank : repair::group;
  }

  /// Calls f(rank) for every rank that lacks sent packets.
  template <class F>
  void each_lagging(F f) const {
    for (std::size_t r = 0; r != fronts_.size(); ++r) {
      if (fronts_[r] < sent_count_) {
        f(static_cast<rank_type>(r));
      }
    }
  }
  /// The first rank that has not acknowledged. @pre not complete
  [[nodiscard]] rank_type unfinished_rank() const noexcept {
    auto const has_not = [this](std::uint32_t front) { return front != layout_.count(); };
    return static_cast<rank_type>(std::ranges::find_if(fronts_, has_not) - fronts_.begin());
  }
  [[nodiscard]] bool is_sent() const noexcept { return sent_count_ == layout_.count(); }
  /// The rank that has the fewest packets, or no_rank if all have acknowledged.
  [[nodiscard]] rank_type slowest() const noexcept {
    return is_complete() ? no_rank : static_cast<rank_type>(std::ranges::min_element(fronts_) - fronts_.begin());
  }

 private:
  struct packet {
    time_point first_sent{};
    time_point send_time{};     ///< last time
    bool was_repeated = false;  ///< sent more than once
  };
  [[nodiscard]] packet& at(std::uint32_t i) noexcept { return packets_[i & (packets_.size() - 1)]; }

  packetization layout_{};
  std::byte const* source_ = nullptr;
  std::uint32_t front_ = 0;
  std::uint32_t sent_count_ = 0;
  std::vector<packet> packets_;        ///< by packet in flight
  std::vector<std::uint32_t> fronts_;  ///< by rank: number of packets that it has without a gap
  std::vector<time_point> contacts_;   ///< by rank
};

}  // namespace tutti::detail::multicast
