// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// Settings of a rank in a `verbs` world. The ranks may differ in `device` and `gid_index` only.
struct verbs_options {
  static constexpr int any_gid = -1;  ///< the best entry of the GID table

  /// The device, "mlx5_0", with its port after a colon, "mlx5_0:1". If empty: the device of TUTTI_VERBS_DEVICE, or
  /// else the one with the address by which the rendezvous reaches this host, or the only one.
  std::string device;
  /// Index of one of the port's addresses (GIDs). `any_gid`: the index of TUTTI_VERBS_GID, or else the best one, of
  /// RoCE version 2 if possible.
  int gid_index = any_gid;

  /// Piece length for long messages; four pieces are under way at a time.
  std::size_t piece = std::size_t{32} << 10;

  /// Acknowledgement timeout, 4.096 us times 2 to the power of `timeout`, after which the device sends a packet
  /// again. The peer is lost after `retries` repetitions, at most 6: some devices take 7 for "for ever".
  std::uint8_t timeout = 18;
  std::uint8_t retries = 6;  ///< repetitions of a packet before the peer is lost
};

}  // namespace tutti
