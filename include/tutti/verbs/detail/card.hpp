// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::verbs {

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
    std::string out = message({at.device, " ", at.port, " ", at.index});
    for (std::uint8_t const b : at.gid.raw) {
      append(out, {" ", b});
    }
    append(out, {" ", lid, " ", mtu, " ", longest, " ", reads, " ", first_packet, " ", calls, " ", calls_key});
    return out;
  }

  /// @throws error (failure::join) if this is no such text
  [[nodiscard]] static card parse(std::string const& text) {
    card c;
    if (!text.empty() && text.front() == '!') {
      c.trouble = text.substr(1);
      return c;
    }
    word_reader in(text);
    c.at.device = in.word();
    c.at.port = in.number<std::uint8_t>();
    c.at.index = in.number<std::uint8_t>();
    for (std::uint8_t& b : c.at.gid.raw) {
      b = in.number<std::uint8_t>();
    }
    for (std::uint32_t* const one : {&c.lid, &c.mtu, &c.longest, &c.reads, &c.first_packet}) {
      *one = in.number<std::uint32_t>();
    }
    c.calls = in.number<std::uint64_t>();
    c.calls_key = in.number<std::uint32_t>();
    if (!in.good()) {
      throw error(failure::join, "a rank has published '" + text.substr(0, 80) +
                                     "', which is no address of a verbs transport: all ranks must have the same "
                                     "transport");
    }
    return c;
  }
};

}  // namespace tutti::detail::verbs
