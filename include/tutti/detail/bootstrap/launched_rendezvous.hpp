// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/environment.hpp>
#include <tutti/extend/secret.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

class tcp_rendezvous;
class file_rendezvous;

/// The rendezvous that an environment asks for: through rank 0's port or through files; none in a world of one.
/// Construction is collective. Used by one thread at a time.
class launched_rendezvous {
 public:
  /// @throws error(failure::join) that names the ranks at fault
  explicit launched_rendezvous(environment const& settings);
  launched_rendezvous(launched_rendezvous const&) = delete;
  launched_rendezvous& operator=(launched_rendezvous const&) = delete;
  ~launched_rendezvous();

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view text);

  /// The address by which other members reach this host: that of the interface, or the very address, that the user
  /// named; else the one on the route to rank 0. After a meeting through files it is that of the default route, or of
  /// the loopback interface if the launcher put all ranks on this host.
  /// @throws error(failure::join) if that interface does not exist, or none is found
  [[nodiscard]] std::string local_host() const;

  /// The user's name for this host (TUTTI_NODE), or empty.
  [[nodiscard]] std::string const& node() const noexcept { return node_; }

  /// The secret of the world, or none.
  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }

  /// The connections and hellos that rank 0 has refused, with reasons.
  [[nodiscard]] std::vector<std::string> refusals() const;

 private:
  rank_type rank_;
  rank_type size_;
  bool one_host_;
  std::string interface_;
  std::string node_;
  world_secret secret_;
  owner<tcp_rendezvous> tcp_;
  owner<file_rendezvous> file_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/launched_rendezvous.ipp>
#endif
