// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Shrinks gradients before a rank adds them to what it owes, where clipping the sum would come too late: to a norm of
/// at most `limit` / sqrt(n) each for n ranks, as sums of n gradients that do not depend on each other have a norm of
/// sqrt(n) times theirs (Lin et al., "Deep gradient compression", ICLR 2018, section 3.2). So `limit` means the same
/// for any number of ranks; with one it clips the gradient.
class local_clipping {
 public:
  /// @pre limit > 0; infinite: no gradient is clipped
  explicit local_clipping(float limit = std::numeric_limits<float>::infinity()) : limit_(limit) {
    expects(limit > 0, "local_clipping: the norm to clip to must be above 0, not ", limit);
  }

  /// Numbers whose norm is NaN stay as they are; an infinite one makes NaN of infinite numbers.
  void operator()(std::span<float> gradients, rank_type ranks) const {
    if (std::isinf(limit_)) {
      return;
    }
    double const most = double{limit_} / std::sqrt(static_cast<double>(ranks));
    double const length = detail::norm<float>(gradients);
    if (length > most) {
      auto const factor = static_cast<float>(most / length);
      std::ranges::for_each(gradients, [factor](float& one) { one *= factor; });
    }
  }

 private:
  float limit_;
};

}  // namespace tutti::nn
