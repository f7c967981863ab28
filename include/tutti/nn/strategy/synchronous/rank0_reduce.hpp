// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Synchronous data-parallel training through rank 0, which sums all gradients and broadcasts the sums. They are as
/// long as the weights, so the traffic is that of a parameter server. Over a transport with a group (`udp_multicast`)
/// they leave rank 0 once, for any number of ranks.
template <class Communicator, offers<op::reduce> Collecting, offers<op::broadcast> Distributing>
class rank0_reduce : public summing_strategy {
 public:
  /// Constructs the strategy with the topologies that collect gradients and distribute sums.
  rank0_reduce(Communicator& world, Collecting collecting, Distributing distributing)
      : world_(world.alias()), collect_(world, collecting, tutti::sum<float>{}), distribute_(world, distributing) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return world_.size(); }

  /// Cost: one broadcast.
  void broadcast(std::span<float> numbers) override { distribute_(numbers, 0); }
  /// Cost: one reduce and one broadcast.
  void sum(std::span<float> numbers) override {
    collect_(numbers, 0);
    distribute_(numbers, 0);
  }
  void begin(std::span<float> gradient_buffer) noexcept override { gradient_buffer_ = gradient_buffer; }
  /// Completes the sums in the gradient buffer.
  /// @throws error if an operation has failed; the buffer is then undefined
  void finish() override { sum(gradient_buffer_); }

 private:
  mutable Communicator world_;
  reduce<Communicator, Collecting, tutti::sum<float>> collect_;
  tutti::broadcast<Communicator, Distributing> distribute_;
  std::span<float> gradient_buffer_;
};

}  // namespace tutti::nn
