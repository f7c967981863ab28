// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/udp/key_file.hpp>

#include <charconv>
#include <fstream>

namespace tutti::inline v0_1_0::detail::udp {

TUTTI_DECL secret_key read_key(std::string const& path) {
  standard_numbers const reserved_numbers;
  std::ifstream file(path);
  file.width(100);  // a device may hold characters without end
  std::string text;
  if (!(file >> text)) {
    throw error(failure::join, "the key file " + path +
                                   " cannot be read, or is empty; make one for all ranks and the device: od -An -N16 "
                                   "-tx1 /dev/urandom | tr -d ' \\n' > " +
                                   path);
  }
  secret_key k{};
  bool good = text.size() == 2 * k.size();
  for (std::size_t i = 0; good && i < k.size(); ++i) {
    unsigned byte = 0;
    char const* const digits = text.data() + 2 * i;
    good = std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    k[i] = static_cast<std::byte>(byte);
  }
  if (!good) {
    throw error(failure::join, "the key file " + path + " must hold 32 hexadecimal digits, and holds " +
                                   std::to_string(text.size()) + " characters" +
                                   (text.size() == 2 * k.size() ? ", some of them not hexadecimal" : ""));
  }
  return k;
}

}  // namespace tutti::detail::udp
