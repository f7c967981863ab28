// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0::nn {

/// Batch metrics: loss and correct answers of a batch, summed over its rows, so that parts of a batch add up.
template <class T>
struct batch_metrics {
  T loss = 0;     ///< sum over the samples
  T correct = 0;  ///< count of correct answers; exact in float up to 2^24 samples
};

}  // namespace tutti::nn
