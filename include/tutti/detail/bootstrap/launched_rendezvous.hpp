// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/environment.hpp>

#include <optional>

namespace tutti::detail {

/// The rendezvous that an environment calls for: through rank 0's port, through files, or, in a
/// world of one, none. Constructing it is collective. Used by one thread at a time.
template <class Tcp, class File>
class basic_launched_rendezvous {
 public:
  /// @throws error(failure::join) that names the ranks at fault
  explicit basic_launched_rendezvous(environment const& e = read_environment())
      : rank_(e.rank), size_(e.size), one_host_(e.local_size == e.size), interface_(e.interface), node_(e.node) {
    membership const me{e.rank, e.size, e.job, e.role, e.patience};
    if (e.size > 1 && !e.directory.empty()) {
      file_.emplace(e.directory, me);
    } else if (e.size > 1) {
      tcp_.emplace(e.master, me);
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view mine) {
    if (tcp_) {
      return tcp_->exchange(mine);
    }
    return file_ ? file_->exchange(mine) : std::vector<std::string>{std::string(mine)};
  }

  /// The number by which the other members reach this host: of the interface that the user named, or that very number,
  /// else the one on the route to rank 0; where they met through files, of the default route, or of the
  /// loopback interface if the launcher put all ranks on this host.
  /// @throws error(failure::join) if there is no such interface, or none to be found
  [[nodiscard]] std::string local_host() const {
    if (!interface_.empty()) {
      return net::interface_address(interface_).host();
    }
    if (tcp_) {
      return tcp_->local_host();
    }
    return one_host_ || size_ == 1 ? net::loopback_host() : file_->local_host();
  }

  /// What the user says tells this host from others (TUTTI_NODE); empty if nothing.
  [[nodiscard]] std::string const& node() const noexcept { return node_; }

  /// What came to rank 0 that was no member, and why it was refused.
  [[nodiscard]] std::vector<std::string> refused() const {
    return tcp_ ? tcp_->refused() : file_ ? file_->refused() : std::vector<std::string>();
  }

 private:
  rank_type rank_;
  rank_type size_;
  bool one_host_;
  std::string interface_;
  std::string node_;
  std::optional<Tcp> tcp_;
  std::optional<File> file_;
};

using launched_rendezvous = basic_launched_rendezvous<tcp_rendezvous, file_rendezvous>;

}  // namespace tutti::detail
