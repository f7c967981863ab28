// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// What a step of training takes, and what is still to be moved at the ends of its phases.
struct step {
  double seconds = 0;        ///< from the end of one backward to that of the next
  double aggregation = 0;    ///< of them, from the end of backward until the servers have all gradients
  double distribution = 0;   ///< of them, that workers wait for sums after that
  double push_left = 0;      ///< bytes of gradients that have not come to a server when backward ends
  double pull_left = 0;      ///< bytes of sums that have not come to a worker when backward ends
  double pull_left_yet = 0;  ///< the same, when the servers have all gradients
};

}  // namespace bench
