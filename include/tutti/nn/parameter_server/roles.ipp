// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/parameter_server/roles.hpp>

#include <string>

namespace tutti::inline v0_1_0::nn::parameter_server {

TUTTI_DECL roles::roles(rank_type ranks, rank_type servers) : servers_(servers), workers_(ranks - servers) {
  expects(servers >= 1, "parameter server: at least 1 rank must be a server, not 0");
  expects(servers < ranks, "parameter server: ", servers, " servers of ", ranks,
          " ranks leave no rank to be a worker; start more ranks or ask for fewer servers");
}

TUTTI_DECL std::string roles::name(rank_type rank) const {
  return serves(rank) ? "server " + std::to_string(rank) : "worker " + std::to_string(worker(rank));
}

}  // namespace tutti::nn::parameter_server
