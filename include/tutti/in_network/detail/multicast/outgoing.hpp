// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/cut.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// A message that this rank sends to a group, until each rank that gets it has `finish`ed. What is lost is sent again
/// from the user's memory.
class outgoing {
 public:
  /// How a lost packet is sent again.
  enum class repair {
    none,   ///< it was sent a moment ago
    group,  ///< others are likely to lack it, too
    rank,   ///< to the rank that lacks it: the group has had it twice
  };

  /// @param window packets that are ever under way; called once, before all else
  void open(std::uint32_t window, std::size_t ranks) {
    packets_.resize(std::bit_ceil(window));
    fronts_.resize(ranks);
    contacts_.resize(ranks);
  }
  void begin(helper_part const& part) {
    cut_ = {part.bytes};
    from_ = nullptr;
    sent_ = 0;
    std::ranges::fill(fronts_, cut_.count());
    for (helper_worker const& w : part.workers) {
      fronts_[w.rank] = w.gets ? 0 : cut_.count();
    }
    front_ = (std::ranges::min)(fronts_);
    std::ranges::fill(contacts_, time_point{});
  }
  void give(std::byte const* from) noexcept { from_ = from; }

  [[nodiscard]] bool is_given() const noexcept { return from_ != nullptr; }
  /// Packets that all have.
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint32_t under_way() const noexcept { return sent_ - (std::min)(front_, sent_); }
  [[nodiscard]] bool over() const noexcept { return front_ == cut_.count(); }
  /// Whether there is a packet to be sent for the first time. @param window at most that of `open`
  [[nodiscard]] bool may_send(std::uint32_t window) const noexcept {
    return from_ != nullptr && sent_ < cut_.count() && sent_ - front_ < window;
  }
  [[nodiscard]] std::span<std::byte const> content(std::uint32_t i) const noexcept {
    return {from_ + cut::offset(i), cut_.length(i)};
  }
  void count_sent(time_point now) noexcept { at(sent_++) = {now, now, false}; }

  /// A rank has the first `upto` packets, as packets say, which may be lost. That it has all, `finish` says alone.
  void confirm(rank_type by, std::uint32_t upto) noexcept {
    bool const was_last = fronts_[by] == front_;
    fronts_[by] = (std::max)(fronts_[by], (std::min)({upto, sent_, cut_.count() - 1}));
    if (was_last) {
      front_ = (std::ranges::min)(fronts_);
    }
  }
  /// A rank has all.
  void finish(rank_type r) noexcept {
    fronts_[r] = cut_.count();
    front_ = (std::ranges::min)(fronts_);
  }
  /// Something was heard of a rank, or asked of it.
  void contact(rank_type r, time_point now) noexcept { contacts_[r] = now; }
  /// Since when a rank that is behind has been silent: at the earliest since what it lacks was sent.
  [[nodiscard]] time_point silent_since(rank_type r) const noexcept {
    return (std::max)(contacts_[r], packets_[fronts_[r] & (packets_.size() - 1)].first_sent);
  }
  [[nodiscard]] std::uint32_t front_of(rank_type r) const noexcept { return fronts_[r]; }
  /// When packet i was sent, if only once. @pre it is under way, or was the last that ceased to be
  [[nodiscard]] time_point sent_once_at(std::uint32_t i) const noexcept {
    packet const& p = packets_[i & (packets_.size() - 1)];
    return p.repeated ? time_point{} : p.sent;
  }

  /// What to do about packet i, which a rank lacks. @pre it is under way
  [[nodiscard]] repair mend(std::uint32_t i, time_point now, duration patience) noexcept {
    packet& p = at(i);
    if (now - p.sent < patience) {
      return repair::none;
    }
    bool const again = p.repeated;
    p.sent = now;
    p.repeated = true;
    return again ? repair::rank : repair::group;
  }

  /// Calls f(rank) for those that lack packets that have been sent.
  template <class F>
  void each_behind(F f) const {
    for (std::size_t r = 0; r != fronts_.size(); ++r) {
      if (fronts_[r] < sent_) {
        f(static_cast<rank_type>(r));
      }
    }
  }
  /// The first rank that has not finished. @pre not over
  [[nodiscard]] rank_type unfinished() const noexcept {
    auto const has_not = [this](std::uint32_t front) { return front != cut_.count(); };
    return static_cast<rank_type>(std::ranges::find_if(fronts_, has_not) - fronts_.begin());
  }
  [[nodiscard]] bool all_sent() const noexcept { return sent_ == cut_.count(); }
  /// A rank that has the fewest packets, or no_rank when all have all.
  [[nodiscard]] rank_type last() const noexcept {
    return over() ? no_rank : static_cast<rank_type>(std::ranges::min_element(fronts_) - fronts_.begin());
  }

 private:
  struct packet {
    time_point first_sent{};
    time_point sent{};      ///< last
    bool repeated = false;  ///< not for the first time
  };
  [[nodiscard]] packet& at(std::uint32_t i) noexcept { return packets_[i & (packets_.size() - 1)]; }

  cut cut_{};
  std::byte const* from_ = nullptr;
  std::uint32_t front_ = 0;
  std::uint32_t sent_ = 0;
  std::vector<packet> packets_;        ///< of those that are under way
  std::vector<std::uint32_t> fronts_;  ///< by rank: the packets that it has, without a gap
  std::vector<time_point> contacts_;   ///< by rank
};

}  // namespace tutti::detail::multicast
