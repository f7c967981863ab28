// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/tcp_guest.hpp>
#include <tutti/detail/bootstrap/tcp_host.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Listens at rank 0's port: at every address of this host, or only at the loopback address where the others meet.
/// @throws error(failure::join) that names both processes if another one is rank 0 there
TUTTI_DECL descriptor listen_as_rank_0(host_port const& at, membership const& me) {
  try {
    net::address const loopback = net::loopback_address(at);
    return loopback ? net::listen(loopback) : net::listen(at.port);
  } catch (error const& e) {
    // If another process is rank 0 here, its answer to this one's hello names both.
    constexpr duration short_visit = std::chrono::milliseconds(200);
    membership brief = me;
    brief.patience = (std::min)(me.patience, short_visit);
    try {
      tcp_guest const second({"localhost", at.port}, brief);
    } catch (error const& answer) {
      if (std::string_view(answer.what()).find("two processes") != std::string_view::npos) {
        throw;
      }
    }
    throw error(failure::join, std::string(e.what()) +
                                   "; rank 0 must listen there, but another program or an earlier job may use this "
                                   "port: choose another one with TUTTI_MASTER_PORT")
        .set_ranks(0, {0});
  }
}

TUTTI_DECL tcp_rendezvous::tcp_rendezvous(host_port const& at, membership const& me) : rank_(me.rank), size_(me.size) {
  expects(me.rank < me.size, "tcp_rendezvous: the rank must be below the size of its world, ", me.size, ", not ",
          me.rank);
  if (me.rank == 0) {
    side_.reset(new tcp_host(listen_as_rank_0(at, me), me));
  } else {
    side_.reset(new tcp_guest(at, me));
  }
}

TUTTI_DECL tcp_rendezvous::tcp_rendezvous(descriptor listener, membership const& me) : rank_(me.rank), size_(me.size) {
  expects(me.rank == 0, "tcp_rendezvous: only rank 0 may give a listener, not rank ", me.rank,
          "; give the address there");
  side_.reset(new tcp_host(std::move(listener), me));
}

TUTTI_DECL tcp_rendezvous::~tcp_rendezvous() = default;

TUTTI_DECL std::vector<std::string> tcp_rendezvous::exchange(std::string_view text) {
  return side_->exchange(text);
}
TUTTI_DECL std::string tcp_rendezvous::local_host() const {
  return side_->local_host();
}
TUTTI_DECL std::vector<std::string> tcp_rendezvous::refusals() const {
  return side_->refusals();
}

}  // namespace tutti::detail::bootstrap
