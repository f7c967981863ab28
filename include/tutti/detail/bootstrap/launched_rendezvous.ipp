// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/net/address.hpp>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL launched_rendezvous::launched_rendezvous(environment const& e)
    : rank_(e.rank), size_(e.size), one_host_(e.local_size == e.size), interface_(e.network_interface), node_(e.node) {
  membership const me{e.rank, e.size, e.job, e.role, e.patience};
  if (e.size > 1 && !e.directory.empty()) {
    file_.reset(new file_rendezvous(e.directory, me));
  } else if (e.size > 1) {
    tcp_.reset(new tcp_rendezvous(e.master, me));
  }
}

TUTTI_DECL launched_rendezvous::~launched_rendezvous() = default;

TUTTI_DECL std::vector<std::string> launched_rendezvous::exchange(std::string_view mine) {
  if (tcp_) {
    return tcp_->exchange(mine);
  }
  return file_ ? file_->exchange(mine) : std::vector<std::string>{std::string(mine)};
}

TUTTI_DECL std::string launched_rendezvous::local_host() const {
  if (!interface_.empty()) {
    return net::interface_address(interface_).host();
  }
  if (tcp_) {
    return tcp_->local_host();
  }
  return one_host_ || size_ == 1 ? net::loopback_host() : file_->local_host();
}

TUTTI_DECL std::vector<std::string> launched_rendezvous::refused() const {
  return tcp_ ? tcp_->refused() : file_ ? file_->refused() : std::vector<std::string>();
}

}  // namespace tutti::detail::bootstrap
