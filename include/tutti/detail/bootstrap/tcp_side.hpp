// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// One side of a rendezvous at a port of rank 0's host.
class tcp_side {
 public:
  tcp_side() = default;
  tcp_side(tcp_side const&) = delete;
  tcp_side& operator=(tcp_side const&) = delete;
  virtual ~tcp_side() = default;

  virtual std::vector<std::string> exchange(std::string_view mine) = 0;
  [[nodiscard]] virtual std::string local_host() const = 0;
  [[nodiscard]] virtual std::vector<std::string> refused() const { return {}; }
};

}  // namespace tutti::detail::bootstrap
