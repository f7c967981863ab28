// SPDX-License-Identifier: Apache-2.0
#include "place_text.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>

namespace frame {

std::uint32_t read_ip(std::string const& option, std::string const& text) {
  std::array<unsigned, 4> n{};
  char more = 0;
  if (std::sscanf(text.c_str(), "%3u.%3u.%3u.%3u%c", &n[0], &n[1], &n[2], &n[3], &more) != 4 || n[0] > 255 ||
      n[1] > 255 || n[2] > 255 || n[3] > 255) {
    throw std::runtime_error(option + " " + text + " is no IPv4 address, such as 10.77.0.2");
  }
  return n[0] << 24 | n[1] << 16 | n[2] << 8 | n[3];
}

mac_address read_mac(std::string const& option, std::string const& text) {
  std::array<unsigned, 6> n{};
  char more = 0;
  bool const is_one = text.size() == 17 && std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &n[0], &n[1], &n[2],
                                                       &n[3], &n[4], &n[5], &more) == 6;
  if (!is_one || (n[0] & 1U) != 0) {
    throw std::runtime_error(option + " " + text + " is no MAC address of one station, such as 02:74:75:74:74:69");
  }
  mac_address mac;
  for (std::size_t i = 0; i < mac.size(); ++i) {
    mac[i] = static_cast<std::uint8_t>(n[i]);
  }
  return mac;
}

std::string text_of_ip(std::uint32_t ip) {
  return std::to_string(ip >> 24) + "." + std::to_string(ip >> 16 & 0xffU) + "." + std::to_string(ip >> 8 & 0xffU) +
         "." + std::to_string(ip & 0xffU);
}

std::string text_of_mac(mac_address const& mac) {
  std::array<char, 18> text;
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                mac[5]);
  return text.data();
}

}  // namespace frame
