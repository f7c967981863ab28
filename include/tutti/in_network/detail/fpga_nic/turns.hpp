// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Packets that wait for a device, in a line for each job, of which one each is taken in turns: a job that has more
/// under way than another is not served more. What is of no job shares one line, which is short. All lines share room,
/// which grows to what was needed once, and is kept.
template <class Address>
class turns {
 public:
  /// @param jobs that have a line for themselves
  /// @param room for packets, in all
  /// @param of_none how many of them are of no job, at most
  turns(std::size_t jobs, std::size_t room, std::size_t of_none) : lines_(jobs + 1), room_(room), of_none_(of_none) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// `job`: of which the sender is known to be a member. False: there is no room, and the packet is lost.
  bool add(Address const& from, std::span<std::byte const> bytes, bool congested, std::optional<std::uint32_t> job) {
    line& l = line_of(job);
    if (size_ == room_ || (&l == lines_.data() && l.count == of_none_)) {
      return false;
    }
    std::size_t const at = take_free();
    waiting& w = all_[at];
    w.next = none;
    w.from = from;
    w.size = (std::min)(bytes.size(), w.bytes.size());  // one that is too long is seen to be
    w.congested = congested;
    std::copy_n(bytes.begin(), w.size, w.bytes.begin());
    (l.count == 0 ? l.first : all_[l.last].next) = at;
    l.last = at;
    ++l.count;
    ++size_;
    return true;
  }

  /// Calls f(from, bytes, congested) for each of this number of packets, or of all that there are.
  template <class F>
  void serve(std::size_t packets, F f) {
    for (; packets != 0 && size_ != 0; turn_ = (turn_ + 1) % lines_.size()) {
      line& l = lines_[turn_];
      if (l.count == 0) {
        continue;
      }
      std::size_t const at = l.first;
      waiting& w = all_[at];
      f(w.from, std::span<std::byte const>(w.bytes).first(w.size), w.congested);
      l.first = w.next;
      w.next = free_;
      free_ = at;
      --l.count;
      --size_;
      --packets;
    }
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;

  struct waiting {
    Address from{};
    std::size_t next = none;  ///< in its line, or of those that are free
    std::size_t size = 0;
    bool congested = false;
    std::array<std::byte, udp::max_packet + 1> bytes;
  };
  struct line {
    std::uint32_t job = 0;
    std::size_t count = 0;
    std::size_t first = none;
    std::size_t last = none;
  };

  /// A job has a line as long as packets of it wait there.
  [[nodiscard]] line& line_of(std::optional<std::uint32_t> job) noexcept {
    line* free = nullptr;
    for (std::size_t i = 1; job && i != lines_.size(); ++i) {
      line& l = lines_[i];
      if (l.count != 0 && l.job == *job) {
        return l;
      }
      free = free == nullptr && l.count == 0 ? &l : free;
    }
    if (free == nullptr) {
      return lines_[0];
    }
    free->job = *job;
    return *free;
  }
  /// @pre size_ < room_
  [[nodiscard]] std::size_t take_free() {
    if (free_ == none) {
      std::size_t const before = all_.size();
      all_.resize(std::clamp<std::size_t>(2 * before, std::min<std::size_t>(64, room_), room_));
      for (std::size_t i = all_.size(); i-- > before; free_ = i) {
        all_[i].next = free_;
      }
    }
    std::size_t const at = free_;
    free_ = all_[at].next;
    return at;
  }

  std::vector<line> lines_;  ///< the first is of no job
  std::size_t room_;
  std::size_t of_none_;
  std::vector<waiting> all_;
  std::size_t free_ = none;
  std::size_t size_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace tutti::detail::fpga_nic
