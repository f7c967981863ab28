// SPDX-License-Identifier: Apache-2.0
#pragma once

// OpenSSL 3 for worlds with a secret. One source of a program that has one includes this header; then ranks prove who
// they are, over any transport.

#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/secure/detail/registration.hpp>
#include <tutti/transport/tcp.hpp>

#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0 {

/// The transport `tcp` with encryption, TLS 1.3: nobody on the path reads or changes what ranks send each other, or
/// takes a rank's place. The rendezvous must have a secret, as that of `spawn` has.
///
/// Connections are encrypted after both ranks have proved that they know the secret, so strangers never reach OpenSSL.
///
/// Cost: 3 to 4 us a short message, and about 1 GB/s of a core (bench/results/trust.md); for each peer 20 KiB of
/// buffers beside OpenSSL's own, and a handshake. OpenSSL allocates a few small blocks for each record of 16 KiB, where
/// `tcp` allocates nothing.
class secure_tcp : public tcp {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "secure_tcp";

  /// Joins the world, as `tcp` does.
  /// @throws error (failure::join) as `tcp`, or if the rendezvous has no secret
  template <locates_hosts M>
  explicit secure_tcp(M& meet, options settings = {}) : tcp(meet, (settings.encryption = true, std::move(settings))) {}
};

static_assert(transport<secure_tcp> && detects_mismatch<secure_tcp>);

}  // namespace tutti
