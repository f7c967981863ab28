// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// Settings of a rank in a `verbs` world. The ranks may differ in `device` and `gid_index` only.
struct verbs_options {
  static constexpr int any_gid = -1;  ///< the table's entry that suits is searched for

  /// The device, "mlx5_0", and after a colon its port, "mlx5_0:1". Empty: as TUTTI_VERBS_DEVICE says, or else the one
  /// that has the address by which the rendezvous says that others reach this host, or the only one.
  std::string device;
  /// Number of one of the port's addresses. `any_gid`: the one that TUTTI_VERBS_GID says, or else one that is found, of
  /// RoCE version 2 if there is one.
  int gid_index = any_gid;

  /// Long messages are read from the sender's memory in pieces of this length, four under way.
  std::size_t piece = std::size_t{32} << 10;

  /// A peer that does not acknowledge is sent to again after 4.096 us times 2 to the power of `timeout`, `retries`
  /// times, and then it is lost. There are at most 6 retries: some devices take 7 for "for ever".
  std::uint8_t timeout = 18;
  std::uint8_t retries = 6;  ///< how often the device sends a packet again before the peer counts as gone
};

}  // namespace tutti
