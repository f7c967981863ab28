// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/net/address.hpp>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL launched_rendezvous::launched_rendezvous(environment const& settings)
    : rank_(settings.rank),
      size_(settings.size),
      one_host_(settings.local_size == settings.size),
      interface_(settings.network_interface),
      node_(settings.node),
      secret_(settings.secret) {
  if (!settings.dumps.empty()) {
    dumps::begin(settings.dumps, settings.rank);
  }
  record_owner::set_job(settings.job);
  membership const me{settings.rank, settings.size, settings.job, settings.role, settings.patience, settings.secret};
  if (settings.size > 1 && !settings.directory.empty()) {
    file_.reset(new file_rendezvous(settings.directory, me));
  } else if (settings.size > 1) {
    tcp_.reset(new tcp_rendezvous(settings.master, me));
  }
}

TUTTI_DECL launched_rendezvous::~launched_rendezvous() = default;

TUTTI_DECL std::vector<std::string> launched_rendezvous::exchange(std::string_view text) {
  if (tcp_) {
    return tcp_->exchange(text);
  }
  return file_ ? file_->exchange(text) : std::vector<std::string>{std::string(text)};
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

TUTTI_DECL std::vector<std::string> launched_rendezvous::refusals() const {
  return tcp_ ? tcp_->refusals() : file_ ? file_->refusals() : std::vector<std::string>();
}

}  // namespace tutti::detail::bootstrap
