// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <stdexcept>

namespace tutti::inline v0_1_0::nn {

/// A checkpoint cannot be written, or is of another training than this one. Says which file, and what to do.
class checkpoint_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A checkpoint is not what was written: cut short, changed, or of something else. The one before may be good.
class damaged_checkpoint : public checkpoint_error {
 public:
  using checkpoint_error::checkpoint_error;
};

/// Another version of this program wrote a checkpoint, in a format that this one does not know. The one before may be
/// of this one's.
class other_format : public checkpoint_error {
 public:
  using checkpoint_error::checkpoint_error;
};

}  // namespace tutti::nn
