// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/environment.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

class tcp_rendezvous;
class file_rendezvous;

/// The rendezvous that an environment calls for: through rank 0's port, through files, or, in a
/// world of one, none. Constructing it is collective. Used by one thread at a time.
class launched_rendezvous {
 public:
  /// @throws error(failure::join) that names the ranks at fault
  explicit launched_rendezvous(environment const& e);
  launched_rendezvous(launched_rendezvous const&) = delete;
  launched_rendezvous& operator=(launched_rendezvous const&) = delete;
  ~launched_rendezvous();

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view mine);

  /// The number by which the other members reach this host: of the interface that the user named, or that very number,
  /// else the one on the route to rank 0; where they met through files, of the default route, or of the
  /// loopback interface if the launcher put all ranks on this host.
  /// @throws error(failure::join) if there is no such interface, or none to be found
  [[nodiscard]] std::string local_host() const;

  /// What the user says tells this host from others (TUTTI_NODE); empty if nothing.
  [[nodiscard]] std::string const& node() const noexcept { return node_; }

  /// What came to rank 0 that was no member, and why it was refused.
  [[nodiscard]] std::vector<std::string> refused() const;

 private:
  rank_type rank_;
  rank_type size_;
  bool one_host_;
  std::string interface_;
  std::string node_;
  owned<tcp_rendezvous> tcp_;
  owned<file_rendezvous> file_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/launched_rendezvous.ipp>
#endif
