// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// Is told, while a replica computes a gradient, the part of the gradient buffer that is final. Called a few times
/// for each layer.
class gradient_listener {
 public:
  gradient_listener() = default;
  gradient_listener(gradient_listener const&) = delete;
  gradient_listener& operator=(gradient_listener const&) = delete;
  virtual ~gradient_listener() = default;

  /// Announces that the gradient buffer is final from element `first` to its end. Called repeatedly, with a growing
  /// part, at last with all of it. Must not block.
  virtual void on_completion(std::size_t first) = 0;

  /// True if the gradient buffer stays on the device that computes it. Then `on_enqueue` is called instead of
  /// `on_completion`.
  [[nodiscard]] virtual bool is_on_device() const noexcept { return false; }
  /// Announces that the work enqueued in the device's stream completes the device's gradient buffer from element
  /// `first` to its end.
  virtual void on_enqueue(std::size_t /*first*/) {}
};

}  // namespace tutti::nn
