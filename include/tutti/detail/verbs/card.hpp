// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/verbs/device.hpp>
#include <tutti/types.hpp>

#include <cstdint>
#include <sstream>
#include <string>

namespace tutti::inline v0_1_0::detail::rdma {

/// What a rank tells the others about itself.
struct card {
  port_address at;
  std::uint32_t lid = 0;
  std::uint32_t mtu = 0;      ///< the path MTU that its port can do, as the enumeration of libibverbs numbers them
  std::uint32_t longest = 0;  ///< message that its port can do
  std::uint32_t reads = 0;    ///< how many READs of one peer it answers at a time
  std::uint32_t first_packet = 0;
  std::uint64_t calls = 0;  ///< where its call boards are, by lanes, and under which key
  std::uint32_t calls_key = 0;
  std::string trouble;  ///< if not empty, why it cannot take part

  /// What a rank says instead that cannot take part.
  [[nodiscard]] static std::string refusal(std::string const& why) { return "!" + why; }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << at.device << ' ' << int{at.port} << ' ' << int{at.index};
    for (std::uint8_t const b : at.gid.raw) {
      out << ' ' << int{b};
    }
    out << ' ' << lid << ' ' << mtu << ' ' << longest << ' ' << reads << ' ' << first_packet << ' ' << calls << ' '
        << calls_key;
    return out.str();
  }

  /// @throws error (failure::join) if this is no such text
  [[nodiscard]] static card parse(std::string const& text) {
    card c;
    if (!text.empty() && text.front() == '!') {
      c.trouble = text.substr(1);
      return c;
    }
    std::istringstream in(text);
    int port = 0;
    int index = 0;
    in >> c.at.device >> port >> index;
    c.at.port = static_cast<std::uint8_t>(port);
    c.at.index = static_cast<std::uint8_t>(index);
    for (std::uint8_t& b : c.at.gid.raw) {
      int value = 0;
      in >> value;
      b = static_cast<std::uint8_t>(value);
    }
    in >> c.lid >> c.mtu >> c.longest >> c.reads >> c.first_packet >> c.calls >> c.calls_key;
    if (!in) {
      throw error(failure::join, "a rank has published '" + text.substr(0, 80) +
                                     "', which is no address of a verbs transport: all ranks must have the same "
                                     "transport");
    }
    return c;
  }
};

}  // namespace tutti::detail::rdma
