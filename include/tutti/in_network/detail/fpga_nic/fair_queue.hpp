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

/// Fair queue of packets for a device: one line for each job, served in turn, so a job with more packets is not
/// served more. Packets of unknown senders share one short line. All lines share storage, which grows as needed and
/// is reused.
template <class Address>
class fair_queue {
 public:
  /// @param jobs jobs that have a line of their own
  /// @param room total number of packets
  /// @param max_unknown packets of unknown senders
  fair_queue(std::size_t jobs, std::size_t room, std::size_t max_unknown)
      : lines_(jobs + 1), room_(room), max_unknown_(max_unknown) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// `job`: the job of a known member. False: there is no room, and the packet is lost.
  bool add(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark,
           std::optional<std::uint32_t> job) {
    line& l = line_of(job);
    if (size_ == room_ || (&l == lines_.data() && l.count == max_unknown_)) {
      return false;
    }
    std::size_t const at = allocate_entry();
    packet_entry& w = packets_[at];
    w.next = end_of_list;
    w.source = source;
    w.size = (std::min)(bytes.size(), w.bytes.size());  // one byte more reveals a packet that is too long
    w.has_ecn_mark = has_ecn_mark;
    std::copy_n(bytes.begin(), w.size, w.bytes.begin());
    (l.count == 0 ? l.first : packets_[l.last].next) = at;
    l.last = at;
    ++l.count;
    ++size_;
    return true;
  }

  /// Calls f(from, bytes, congested) for this number of packets, or for all if there are fewer.
  template <class F>
  void serve(std::size_t packets, F f) {
    for (; packets != 0 && size_ != 0; current_line_ = (current_line_ + 1) % lines_.size()) {
      line& l = lines_[current_line_];
      if (l.count == 0) {
        continue;
      }
      std::size_t const at = l.first;
      packet_entry& w = packets_[at];
      f(w.source, std::span<std::byte const>(w.bytes).first(w.size), w.has_ecn_mark);
      l.first = w.next;
      w.next = free_list_;
      free_list_ = at;
      --l.count;
      --size_;
      --packets;
    }
  }

 private:
  static constexpr std::size_t end_of_list = SIZE_MAX;

  struct packet_entry {
    Address source{};
    std::size_t next = end_of_list;  ///< the next packet in its line, or in the free list
    std::size_t size = 0;
    bool has_ecn_mark = false;
    std::array<std::byte, udp::max_packet + 1> bytes;
  };
  struct line {
    std::uint32_t job = 0;
    std::size_t count = 0;
    std::size_t first = end_of_list;
    std::size_t last = end_of_list;
  };

  /// The line of a job; it keeps the line while packets wait there.
  [[nodiscard]] line& line_of(std::optional<std::uint32_t> job) noexcept {
    line* free_line = nullptr;
    for (std::size_t i = 1; job && i != lines_.size(); ++i) {
      line& l = lines_[i];
      if (l.count != 0 && l.job == *job) {
        return l;
      }
      free_line = free_line == nullptr && l.count == 0 ? &l : free_line;
    }
    if (free_line == nullptr) {
      return lines_[0];
    }
    free_line->job = *job;
    return *free_line;
  }
  /// @pre size_ < room_
  [[nodiscard]] std::size_t allocate_entry() {
    if (free_list_ == end_of_list) {
      std::size_t const size_before = packets_.size();
      packets_.resize(std::clamp<std::size_t>(2 * size_before, std::min<std::size_t>(64, room_), room_));
      for (std::size_t i = packets_.size(); i-- > size_before; free_list_ = i) {
        packets_[i].next = free_list_;
      }
    }
    std::size_t const at = free_list_;
    free_list_ = packets_[at].next;
    return at;
  }

  std::vector<line> lines_;  ///< the first line is that of unknown senders
  std::size_t room_;
  std::size_t max_unknown_;
  std::vector<packet_entry> packets_;
  std::size_t free_list_ = end_of_list;
  std::size_t size_ = 0;
  std::size_t current_line_ = 0;
};

}  // namespace tutti::detail::fpga_nic
