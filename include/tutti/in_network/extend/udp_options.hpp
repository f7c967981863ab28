// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0 {

/// The socket of a rank, for packets of UDP to a device or to a group.
struct udp_options {
  bool offload = true;         ///< packets travel through the system in bursts (GSO and GRO), where it can do that
  int buffer = 16 << 20;       ///< bytes that the system keeps, each way, or as many as it allows
  unsigned destinations = 16;  ///< the number of receivers that packets are gathered for at once; each takes 64 KiB
};

}  // namespace tutti
