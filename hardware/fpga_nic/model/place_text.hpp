// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame.hpp"

#include <cstdint>
#include <string>

/// Readable forms of addresses.
namespace frame {

/// @throws std::runtime_error that names `option` if the text is not of the form 10.77.0.2
[[nodiscard]] std::uint32_t read_ip(std::string const& option, std::string const& text);
/// @throws std::runtime_error that names `option` if the text is not of the form 02:74:75:74:74:69, or is a group
/// address
[[nodiscard]] mac_address read_mac(std::string const& option, std::string const& text);

[[nodiscard]] std::string text_of_ip(std::uint32_t ip);
[[nodiscard]] std::string text_of_mac(mac_address const& mac);

}  // namespace frame
