// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/net/address.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

class tcp_side;  // rank 0's side or the other ranks'

/// A rendezvous at a port of rank 0's host that every member knows. Construction is collective and returns when all
/// have joined; exchanges use the same connections.
///
/// Cost: joining and each exchange take two messages per rank, all of them through rank 0. Used by one thread at a
/// time; rank 0 serves only while it is inside a call.
class tcp_rendezvous {
 public:
  /// Joins at `at`: rank 0 listens there, at every address of its host, and the others connect. At "localhost" or a
  /// loopback number rank 0 listens at that address alone, so that no other host reaches it.
  /// @pre me.rank < me.size
  /// @throws error(failure::join) that names the ranks that are missing after me.patience, that exist twice or that
  ///         disagree about the size, on every rank that has reached rank 0
  tcp_rendezvous(host_port const& at, membership const& me);

  /// Rank 0's side at a port with an open listener.
  /// @pre me.rank == 0
  tcp_rendezvous(descriptor listener, membership const& me);

  tcp_rendezvous(tcp_rendezvous const&) = delete;
  tcp_rendezvous& operator=(tcp_rendezvous const&) = delete;
  ~tcp_rendezvous();

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view text);

  /// The address by which other members reach this host: that of the interface on the route to rank 0.
  [[nodiscard]] std::string local_host() const;

  /// The first 64 connections that rank 0 has refused, with addresses and reasons. Empty on the other ranks.
  [[nodiscard]] std::vector<std::string> refusals() const;

 private:
  rank_type rank_;
  rank_type size_;
  owner<tcp_side> side_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/tcp_rendezvous.ipp>
#endif
