// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>

#include <cmath>
#include <limits>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Clips the gradients of each rank before they are added to the error feedback, because clipping the sum would be
/// too late. The limit of the norm is `limit` / sqrt(n) for n ranks, because a sum of n independent gradients has
/// sqrt(n) times their norm (Lin et al., "Deep gradient compression", ICLR 2018, section 3.2). So `limit` means the
/// same for any number of ranks; with one rank it clips the gradient.
class local_clipping {
 public:
  /// @pre limit > 0; infinity disables clipping
  explicit local_clipping(float limit = std::numeric_limits<float>::infinity()) : limit_(limit) {
    expects(limit > 0, "local_clipping: the norm to clip to must be above 0, not ", limit);
  }

  /// Clips. Gradients with a NaN norm are unchanged; with an infinite norm, infinite elements become NaN.
  void operator()(std::span<float> gradients, rank_type ranks) const {
    if (std::isinf(limit_)) {
      return;
    }
    detail::clip_to_norm(gradients, double{limit_} / std::sqrt(static_cast<double>(ranks)));
  }

 private:
  float limit_;
};

}  // namespace tutti::nn
