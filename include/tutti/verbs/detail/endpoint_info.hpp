// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::verbs {

/// Endpoint information of a rank, which the rendezvous distributes.
struct endpoint_info {
  port_address address;
  std::uint32_t lid = 0;
  std::uint32_t mtu = 0;          ///< path MTU of its port, in libibverbs' enumeration
  std::uint32_t max_message = 0;  ///< longest message of its port, in bytes
  std::uint32_t max_reads = 0;    ///< READs of one peer that its device serves concurrently
  std::uint32_t first_packet = 0;
  std::uint64_t calls_address = 0;  ///< address of its call boards, one a lane; `calls_key` is their remote key
  std::uint32_t calls_key = 0;
  std::string refusal_reason;  ///< the reason why the rank cannot take part, or empty

  /// Text that a rank publishes if it cannot take part.
  [[nodiscard]] static std::string refusal(std::string const& reason) { return "!" + reason; }
  [[nodiscard]] std::string text() const {
    std::string info_text = message({address.device, " ", address.port, " ", address.index});
    for (std::uint8_t const b : address.gid.raw) {
      append(info_text, {" ", b});
    }
    append(info_text, {" ", lid, " ", mtu, " ", max_message, " ", max_reads, " ", first_packet, " ", calls_address, " ",
                       calls_key});
    return info_text;
  }

  /// @throws error (failure::join) if the text is no endpoint information
  [[nodiscard]] static endpoint_info parse(std::string const& text) {
    endpoint_info info;
    if (!text.empty() && text.front() == '!') {
      info.refusal_reason = text.substr(1);
      return info;
    }
    word_reader reader(text);
    info.address.device = reader.word();
    info.address.port = reader.number<std::uint8_t>();
    info.address.index = reader.number<std::uint8_t>();
    for (std::uint8_t& b : info.address.gid.raw) {
      b = reader.number<std::uint8_t>();
    }
    for (std::uint32_t* const field : {&info.lid, &info.mtu, &info.max_message, &info.max_reads, &info.first_packet}) {
      *field = reader.number<std::uint32_t>();
    }
    info.calls_address = reader.number<std::uint64_t>();
    info.calls_key = reader.number<std::uint32_t>();
    if (!reader.good()) {
      throw error(failure::join, "a rank has published '" + text.substr(0, 80) +
                                     "', which is not an address of verbs: all ranks must have the same transport");
    }
    return info;
  }
};

}  // namespace tutti::detail::verbs
