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
      : all_(world, topology), sum_on_device_(world, topology, tutti::sum<float>{}) {}

  /// The rank of this process.
  [[nodiscard]] rank_type rank() const noexcept override { return all_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return all_.size(); }
  void broadcast(std::span<float> numbers) override { all_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { all_.sum(numbers); }
  void enqueue(device_span<float> numbers, stream_type& in) override { sum_on_device_.enqueue(numbers, in); }
  void wait(stream_type& in) override { tutti::detail::device::stream_wait(all_.world(), in).run(); }

 private:
  detail::group_operations<Communicator, Topology> all_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_on_device_;
};

}  // namespace tutti::nn
