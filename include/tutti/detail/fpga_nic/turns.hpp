// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/protocol.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::detail::fpga_nic {

/// Packets that wait for a device, in a line for each job, of which one each is taken in turns: a job that has more
/// under way than another is not served more. A line's room grows to what it needs, and is kept.
template <class Address>
class turns {
 public:
  /// @param lines jobs that have one for themselves; those above share the last
  /// @param most packets of a line, more are lost
  turns(std::size_t lines, std::size_t most) : lines_(lines), most_(most) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// False: there is no room, and it is lost.
  bool add(Address const& from, std::span<std::byte const> bytes, bool congested) {
    line& l = line_of(bytes.size() < header_bytes ? 0 : get<std::uint32_t>(bytes.data() + 2));
    if (l.count == most_) {
      return false;
    }
    if (l.count == l.ring.size()) {
      std::rotate(l.ring.begin(), l.ring.begin() + static_cast<std::ptrdiff_t>(l.begin), l.ring.end());
      l.begin = 0;
      l.ring.resize(std::clamp<std::size_t>(2 * l.count, 64, most_));
    }
    waiting& w = l.ring[(l.begin + l.count++) % l.ring.size()];
    ++size_;
    w.from = from;
    w.size = std::min(bytes.size(), w.bytes.size());  // one that is too long is seen to be
    w.congested = congested;
    std::copy_n(bytes.begin(), w.size, w.bytes.begin());
    return true;
  }

  /// Calls f(from, bytes, congested) for so many, or all that there are.
  template <class F>
  void serve(std::size_t packets, F f) {
    for (; packets != 0 && size_ != 0; next_ = (next_ + 1) % lines_.size()) {
      line& l = lines_[next_];
      if (l.count == 0) {
        continue;
      }
      waiting const& w = l.ring[l.begin];
      f(w.from, std::span(w.bytes).first(w.size), w.congested);
      l.begin = (l.begin + 1) % l.ring.size();
      --l.count;
      --size_;
      --packets;
    }
  }

 private:
  struct waiting {
    Address from{};
    std::size_t size = 0;
    bool congested = false;
    std::array<std::byte, most_packet + 1> bytes;
  };
  struct line {
    std::uint32_t job = 0;
    std::size_t begin = 0;
    std::size_t count = 0;
    std::vector<waiting> ring{};
  };

  /// A job has a line as long as packets of it wait there.
  [[nodiscard]] line& line_of(std::uint32_t job) noexcept {
    line* none = nullptr;
    for (line& l : lines_) {
      if (l.count != 0 && l.job == job) {
        return l;
      }
      none = none == nullptr && l.count == 0 ? &l : none;
    }
    line& l = none == nullptr ? lines_.back() : *none;
    l.job = none == nullptr ? l.job : job;
    return l;
  }

  std::vector<line> lines_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

}  // namespace tutti::detail::fpga_nic
