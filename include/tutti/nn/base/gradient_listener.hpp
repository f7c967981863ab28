// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// Is told, while a replica computes a gradient, which numbers of the message are final. Called a few times for each
/// layer.
class gradient_listener {
 public:
  gradient_listener() = default;
  gradient_listener(gradient_listener const&) = delete;
  gradient_listener& operator=(gradient_listener const&) = delete;
  virtual ~gradient_listener() = default;

  /// The numbers of the message from `first` to its end are final. Called again and again, of ever more numbers, at
  /// last of all. Must not wait.
  virtual void completed(std::size_t first) = 0;

  /// True if the message stays on the device that computes it. Then `enqueued` is called in place of `completed`.
  [[nodiscard]] virtual bool is_on_device() const noexcept { return false; }
  /// The work in the device's stream makes the numbers from `first` to the end of the device's message final.
  virtual void enqueued(std::size_t /*first*/) {}
};

}  // namespace tutti::nn
