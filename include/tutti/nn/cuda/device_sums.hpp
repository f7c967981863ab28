// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/extend/device_span.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// What `device_synchronous` needs of a world with devices. It has kernels, so over cuda::peers it is for a .cu file,
/// and includes nothing that nvcc cannot read; `any_device_sums` hands it to one with the trainer.
template <class Communicator, offers<op::allreduce> Topology>
class device_sums {
 public:
  /// What kernels are put into.
  using stream_type = typename Communicator::transport_type::stream_type;

  /// @pre the communicator outlives this
  explicit device_sums(Communicator& world, Topology topology = {})
      : all_(world, topology), sum_on_device_(world, topology, tutti::sum<float>{}) {}

  [[nodiscard]] rank_type rank() const noexcept { return all_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return all_.size(); }
  /// Replaces the numbers, in host memory, by those of rank 0. Collective.
  void share(std::span<float> numbers) { all_.share(numbers); }
  /// Replaces the numbers, in host memory, by their sums over all ranks. Collective.
  void sum(std::span<float> numbers) { all_.sum(numbers); }
  /// Puts into the stream that these become their sums over all ranks. Collective.
  void enqueue(device_span<float> numbers, stream_type& in) { sum_on_device_.enqueue(numbers, in); }
  /// Waits until all has run that is in the stream.
  /// @throws error if one of these sums has failed
  void wait(stream_type& in) const { tutti::detail::device::stream_wait(all_.world(), in).run(); }

 private:
  detail::group_operations<Communicator, Topology> all_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_on_device_;
};

}  // namespace tutti::nn
