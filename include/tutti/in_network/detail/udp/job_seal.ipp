// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/in_network/detail/udp/job_seal.hpp>

#include <algorithm>

namespace tutti::inline v0_1_0::detail::udp {

TUTTI_DECL seal job_seal(world_secret const& secret, std::string_view transport,
                         std::vector<std::string> const& publications) {
  if (!secret) {
    return {};
  }
  net::proof const bytes = net::proof_key(secret).prove("packets", {transport, packer().texts(publications).take()});
  secret_key key{};
  std::copy_n(bytes.begin(), key.size(), key.begin());
  return seal(key);
}

}  // namespace tutti::detail::udp
