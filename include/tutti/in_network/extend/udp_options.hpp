// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0 {

/// The UDP socket of a rank, for packets to a device or to a group.
struct udp_options {
  bool offload = true;         ///< segmentation offload: the system handles packets in bursts (GSO and GRO), if it can
  int buffer = 16 << 20;       ///< bytes of the socket buffers, each way, limited by the system
  unsigned destinations = 16;  ///< receivers that packets are gathered for at once; each takes 64 KiB
};

}  // namespace tutti
