// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <stdexcept>

namespace tutti::inline v0_1_0::nn {

/// The error of a checkpoint that cannot be written, or that belongs to another training. Names the file and the
/// remedy.
class checkpoint_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The error of a checkpoint for which the disk, or the quota, has no room.
class full_disk : public checkpoint_error {
 public:
  using checkpoint_error::checkpoint_error;
};

/// The error of a checkpoint with other bytes than were written: truncated, changed, or something else. The previous
/// one may be intact.
class damaged_checkpoint : public checkpoint_error {
 public:
  using checkpoint_error::checkpoint_error;
};

/// The error of a checkpoint in an unknown format, written by another version of this program. The previous one may
/// be readable.
class other_format : public checkpoint_error {
 public:
  using checkpoint_error::checkpoint_error;
};

}  // namespace tutti::nn
