// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// "node7:29500", "10.0.0.1:80", "[fe80::1]:80": a name or number of a host, without brackets, and a port.
struct host_port {
  std::string host;        ///< its name or number
  std::uint16_t port = 0;  ///< 0: none

  friend bool operator==(host_port const&, host_port const&) = default;
};

}  // namespace tutti
