// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <compare>
#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// The position in a training: `batch` batches of `epoch` are done. After the last batch the epoch is still to be
/// tested.
struct training_position {
  std::size_t epoch = 0;  ///< the epoch, from 0
  std::size_t batch = 0;  ///< the batch in the epoch, from 0

  friend auto operator<=>(training_position const&, training_position const&) = default;
};

}  // namespace tutti::nn
