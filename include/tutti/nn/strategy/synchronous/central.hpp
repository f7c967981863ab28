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

/// Synchronous data-parallel training by way of rank 0: it adds all gradients up, and hands the sums out. What it hands
/// out is as long as the weights, so it is what a parameter server sends; over a transport with a group
/// (`udp_multicast`) that leaves it once, however many ranks there are.
template <class Communicator, offers<op::reduce> Collecting, offers<op::broadcast> Distributing>
class central : public summing_strategy {
 public:
  /// Over a communicator, by topologies that collect gradients and distribute weights.
  central(Communicator& world, Collecting collecting, Distributing distributing)
      : world_(world.alias()), collect_(world, collecting, tutti::sum<float>{}), distribute_(world, distributing) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return world_.size(); }

  /// Cost: one broadcast.
  void share(std::span<float> numbers) override { distribute_(numbers, 0); }
  /// Cost: one reduce and one broadcast.
  void sum(std::span<float> numbers) override {
    collect_(numbers, 0);
    distribute_(numbers, 0);
  }
  void begin(std::span<float> message) noexcept override { message_ = message; }
  /// The message becomes the sums.
  /// @throws error if an operation has failed; the message is then of no use
  void finish() override { sum(message_); }

 private:
  mutable Communicator world_;
  reduce<Communicator, Collecting, tutti::sum<float>> collect_;
  broadcast<Communicator, Distributing> distribute_;
  std::span<float> message_;
};

}  // namespace tutti::nn
