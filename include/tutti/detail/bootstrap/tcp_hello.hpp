// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// How a member presents itself to rank 0.
struct tcp_hello {
  static constexpr std::uint64_t version = 2;
  static constexpr std::size_t limit = 1U << 12U;  ///< a longer one is refused before it is read

  rank_type rank = 0;
  rank_type size = 0;
  std::string job;
  member process;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] bool decode(std::string_view bytes);
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/tcp_hello.ipp>
#endif
