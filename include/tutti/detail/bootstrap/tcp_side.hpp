// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The message by which a member presents itself to rank 0.
struct tcp_hello {
  static constexpr std::uint64_t version = 2;
  static constexpr std::size_t limit = 1U << 12U;  ///< bytes; a longer hello is refused unread

  rank_type rank = 0;
  rank_type size = 0;
  std::string job;
  member process;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] bool decode(std::string_view bytes);
};

/// The text of claims to ranks of a world.
[[nodiscard]] TUTTI_DECL std::string text_of_world(std::string_view job, rank_type size);

/// One side of a rendezvous at a port of rank 0's host.
class tcp_side {
 public:
  tcp_side() = default;
  tcp_side(tcp_side const&) = delete;
  tcp_side& operator=(tcp_side const&) = delete;
  virtual ~tcp_side() = default;

  virtual std::vector<std::string> exchange(std::string_view text) = 0;
  [[nodiscard]] virtual std::string local_host() const = 0;
  [[nodiscard]] virtual std::vector<std::string> refusals() const { return {}; }
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/tcp_side.ipp>
#endif
