// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// Buffer for packets of a message that has not begun on this rank. Ranks do not end an operation at one time, and
/// the next root may be the first to end.
class early_packets {
 public:
  /// @param capacity number of packets; called once, before all else
  void open(std::uint32_t capacity) { entries_.resize(capacity); }

  /// False if the buffer is full.
  bool add(udp::packet const& p) noexcept {
    if (count_ == entries_.size()) {
      return false;
    }
    entry& target = entries_[count_++];
    target.head = p.head;
    if (!p.payload.empty()) {
      // the packet may already be here: `for_each` re-adds some
      std::memmove(target.bytes.data(), p.payload.data(), p.payload.size());
    }
    return true;
  }
  /// Empties the buffer and calls f(packet) for each packet; f may add some again.
  template <class F>
  void for_each(F f) {
    std::size_t const count = count_;
    count_ = 0;
    for (std::size_t i = 0; i != count; ++i) {
      header const head = entries_[i].head;
      f(udp::packet{head, std::span(entries_[i].bytes).first(head.length)});
    }
  }

 private:
  using header = udp::header;
  struct entry {
    header head{};
    std::array<std::byte, udp::max_payload> bytes;
  };
  std::vector<entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace tutti::detail::multicast
