// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/tcp_guest.hpp>
#include <tutti/detail/bootstrap/tcp_host.hpp>
#include <tutti/expects.hpp>
#include <tutti/rendezvous.hpp>

#include <optional>

namespace tutti::detail {

/// A rendezvous at a port of rank 0's host, which everyone knows. Constructing it is collective and
/// returns when all have come; exchanges follow over the connections made then.
///
/// Cost: joining and each exchange take two messages per rank, all of them through rank 0. Used by
/// one thread at a time; rank 0 serves only while it is inside a call.
template <class Channel>
class basic_tcp_rendezvous {
 public:
  /// Joins at `at`: rank 0 listens there, at every address of its host, and the others connect.
  /// @pre me.rank < me.size
  /// @throws error(failure::join) that names the ranks that are missing after me.patience, that exist
  ///         twice or that disagree about the size, on every rank that has reached rank 0
  basic_tcp_rendezvous(net::host_port const& at, membership const& me) : rank_(me.rank), size_(me.size) {
    expects(me.rank < me.size, "tcp_rendezvous: a rank is below the size");
    if (me.rank == 0) {
      host_.emplace(listen(at, me), me);
    } else {
      guest_.emplace(at, me);
    }
  }

  /// Rank 0's side at a port that it listens at already.
  /// @pre me.rank == 0
  basic_tcp_rendezvous(descriptor listener, membership const& me) : rank_(me.rank), size_(me.size) {
    expects(me.rank == 0, "tcp_rendezvous: only rank 0 listens");
    host_.emplace(std::move(listener), me);
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view mine) {
    return host_ ? host_->exchange(mine) : guest_->exchange(mine);
  }

  /// The number by which the other members reach this host: of the interface on the route to rank 0.
  [[nodiscard]] std::string local_host() const { return host_ ? host_->reach() : guest_->reach(); }

  /// What came to rank 0's port that was no member; empty on the others.
  [[nodiscard]] std::vector<std::string> refused() const {
    return host_ ? host_->refused() : std::vector<std::string>();
  }

 private:
  static descriptor listen(net::host_port const& at, membership const& me) {
    try {
      return net::listen(at.port);
    } catch (error const& e) {
      // If another process is rank 0 here, it names both when this one says hello.
      constexpr duration moment = std::chrono::milliseconds(200);
      membership brief = me;
      brief.patience = me.patience < moment ? me.patience : moment;
      try {
        basic_tcp_guest<Channel> const second({"localhost", at.port}, brief);
      } catch (error const& told) {
        if (std::string_view(told.what()).find("two processes") != std::string_view::npos) {
          throw;
        }
      }
      throw error(failure::join, std::string(e.what()) +
                                     "; rank 0 serves the rendezvous there: is another program, or an earlier job, "
                                     "still at this port? Choose another with TUTTI_MASTER_PORT")
          .between(0, {0});
    }
  }

  rank_type rank_;
  rank_type size_;
  std::optional<basic_tcp_host<Channel>> host_;    ///< on rank 0
  std::optional<basic_tcp_guest<Channel>> guest_;  ///< on the others
};

using tcp_rendezvous = basic_tcp_rendezvous<channel>;

}  // namespace tutti::detail
