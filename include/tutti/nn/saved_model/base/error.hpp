// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <stdexcept>

namespace tutti::inline v0_1_0::nn {

/// The error of a saved model that cannot be read, written or used. The text names the file and its place, the expected
/// and the found value, and the remedy.
class model_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tutti::nn
