// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// Times of a step of training, and bytes outstanding at the ends of its phases.
struct step {
  double seconds = 0;        ///< from the end of one backward to that of the next
  double aggregation = 0;    ///< part from the end of backward until the servers have all gradients
  double distribution = 0;   ///< part after aggregation in which workers wait for sums
  double push_left = 0;      ///< bytes of gradients not yet at a server when backward ends
  double pull_left = 0;      ///< bytes of sums not yet at a worker when backward ends
  double pull_left_yet = 0;  ///< bytes of sums not yet at a worker when the servers have all gradients
};

}  // namespace bench
