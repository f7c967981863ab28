// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/device_span.hpp>
#include <tutti/extend/types.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// The sums on devices that `device_synchronous` needs. A translation unit with kernels makes `device_sums` of its
/// world; one without, such as one with the trainer, uses this base class for any world.
template <class Stream>
class any_device_sums {
 public:
  /// The type of streams in which kernels are enqueued.
  using stream_type = Stream;

  any_device_sums() = default;
  any_device_sums(any_device_sums const&) = delete;
  any_device_sums& operator=(any_device_sums const&) = delete;
  virtual ~any_device_sums() = default;

  /// The rank of this process.
  [[nodiscard]] virtual rank_type rank() const = 0;
  /// The number of ranks.
  [[nodiscard]] virtual rank_type size() const = 0;
  /// Replaces the numbers, in host memory, by those of rank 0. Collective.
  virtual void broadcast(std::span<float> numbers) = 0;
  /// Replaces the numbers, in host memory, by their sums over all ranks. Collective.
  virtual void sum(std::span<float> numbers) = 0;
  /// Enqueues the replacement of the numbers by their sums over all ranks. Collective.
  virtual void enqueue(device_span<float> numbers, Stream& stream) = 0;
  /// Waits until everything in the stream has run.
  /// @throws error if one of these sums has failed
  virtual void wait(Stream& stream) = 0;
};

}  // namespace tutti::nn
