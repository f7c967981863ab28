// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>

#include <string>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// The role of each rank: the first ranks are servers, all others workers. Server 0 is also the scheduler, which is
/// too little work for a rank of its own; so rank 0 reports, as in other strategies.
class roles {
 public:
  /// @pre at least one server and one worker
  roles(rank_type ranks, rank_type servers);

  /// The number of servers.
  [[nodiscard]] rank_type servers() const noexcept { return servers_; }
  /// The number of workers.
  [[nodiscard]] rank_type workers() const noexcept { return workers_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return servers_ + workers_; }
  /// True if the rank is a server.
  [[nodiscard]] bool serves(rank_type rank) const noexcept { return rank < servers_; }
  /// The rank of a worker.
  [[nodiscard]] rank_type rank_of_worker(rank_type w) const noexcept { return servers_ + w; }
  /// The number of a rank among the workers.
  [[nodiscard]] rank_type worker(rank_type rank) const noexcept { return rank - servers_; }

  /// The role as text: "server 0", "worker 2".
  [[nodiscard]] std::string name(rank_type rank) const;

 private:
  rank_type servers_;
  rank_type workers_;
};

inline roles::roles(rank_type ranks, rank_type servers) : servers_(servers), workers_(ranks - servers) {
  expects(servers >= 1, "parameter server: at least 1 rank must be a server, not 0");
  expects(servers < ranks, "parameter server: ", servers, " servers of ", ranks,
          " ranks leave no rank to be a worker; start more ranks or ask for fewer servers");
}

inline std::string roles::name(rank_type rank) const {
  return serves(rank) ? "server " + std::to_string(rank) : "worker " + std::to_string(worker(rank));
}

}  // namespace tutti::nn::parameter_server
