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

/// Packets of a message that is yet to begin here: ranks end an operation one after the other, and the next one's root
/// may be the first.
class early {
 public:
  /// @param most packets that are kept; called once, before all else
  void open(std::uint32_t most) { kept_.resize(most); }

  /// False if there is no room.
  bool keep(udp::packet const& p) noexcept {
    if (count_ == kept_.size()) {
      return false;
    }
    one& to = kept_[count_++];
    to.head = p.head;
    if (!p.payload.empty()) {
      std::memmove(to.bytes.data(), p.payload.data(), p.payload.size());  // it may be there already: see below
    }
    return true;
  }
  /// Calls f(packet) for all, and forgets them. f may keep some of them again.
  template <class F>
  void each(F f) {
    std::size_t const count = count_;
    count_ = 0;
    for (std::size_t i = 0; i != count; ++i) {
      header const head = kept_[i].head;
      f(udp::packet{head, std::span(kept_[i].bytes).first(head.length)});
    }
  }

 private:
  using header = udp::header;
  struct one {
    header head{};
    std::array<std::byte, udp::most_payload> bytes;
  };
  std::vector<one> kept_;
  std::size_t count_ = 0;
};

}  // namespace tutti::detail::multicast
