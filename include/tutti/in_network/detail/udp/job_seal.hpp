// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::udp {

/// The seal of the packets of one job of a world: its key is made of the secret and of all that the ranks have
/// published, which has fresh random numbers. Without a secret packets have no tags.
/// @throws error(failure::join) if there is a secret and the program has no <tutti/secure.hpp>
[[nodiscard]] TUTTI_DECL seal job_seal(world_secret const& secret, std::string_view transport,
                                       std::vector<std::string> const& publications);

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/job_seal.ipp>
#endif
