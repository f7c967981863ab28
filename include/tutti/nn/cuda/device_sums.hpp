// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/extend/device_span.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/cuda/any_device_sums.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// Sums on the devices of a world. Has kernels, so over cuda::peers it belongs in a .cu file, and includes nothing
/// that nvcc cannot read. A translation unit with the trainer knows it as `any_device_sums`.
template <class Communicator, offers<op::allreduce> Topology>
class device_sums : public any_device_sums<typename Communicator::transport_type::stream_type> {
 public:
  /// The type of streams in which kernels are enqueued.
  using stream_type = typename Communicator::transport_type::stream_type;

  /// @pre the communicator outlives this object
  explicit device_sums(Communicator& world, Topology topology = {})
      : host_operations_(world, topology), device_sum_(world, topology, tutti::sum<float>{}) {}

  /// The rank of this process.
  [[nodiscard]] rank_type rank() const noexcept override { return host_operations_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return host_operations_.size(); }
  void broadcast(std::span<float> numbers) override { host_operations_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { host_operations_.sum(numbers); }
  void enqueue(device_span<float> numbers, stream_type& stream) override { device_sum_.enqueue(numbers, stream); }
  void wait(stream_type& stream) override {
    tutti::detail::device::stream_wait(host_operations_.world(), stream).run();
  }

 private:
  detail::group_operations<Communicator, Topology> host_operations_;
  allreduce<Communicator, Topology, tutti::sum<float>> device_sum_;
};

}  // namespace tutti::nn
