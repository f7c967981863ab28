// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/direct.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// A lossy sum of gradients, with equal bits on all ranks. Its error feedback keeps the part not sent.
template <class E>
concept lossy_sum =
    requires(E& e, E const& c, std::span<float> gradients, packer& output, unpacker& input, std::size_t count) {
      e.sum(gradients);
      c.save(output);
      { e.load(input, count) } -> std::same_as<bool>;
    };

/// Synchronous training with compressed gradients: `Sum` is a sparse_sum or a quantised_sum. Nothing starts
/// before all gradients are complete. The extra scalars are summed as floats, uncompressed.
///
///     nn::compressed_synchronous strategy(world, nn::sparse_sum(world, nn::top_k(0.01), nn::feedback()),
///                                         nn::replica::extra_scalars);
template <class Communicator, lossy_sum Sum>
class compressed_synchronous : public summing_strategy {
 public:
  /// @param extra_scalars number of extra scalars at the end of the gradient buffer
  compressed_synchronous(Communicator& world, Sum sum, std::size_t extra_scalars)
      : world_(world.alias()),
        broadcast_(world, binary_tree{}),
        exact_sum_(world, direct{}, tutti::sum<float>{}),
        sum_(std::move(sum)),
        extra_scalars_(extra_scalars) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return world_.size(); }

  void broadcast(std::span<float> numbers) override { broadcast_(numbers, 0); }
  void sum(std::span<float> numbers) override { exact_sum_(numbers); }

  /// @pre the buffer outlives `finish`
  void begin(std::span<float> gradient_buffer) override {
    expects(gradient_buffer.size() >= extra_scalars_, "compressed_synchronous: a gradient buffer of ",
            gradient_buffer.size(), " numbers must have at least the ", extra_scalars_, " extra scalars");
    gradient_buffer_ = gradient_buffer;
  }

  /// @throws error like collectives
  void finish() override {
    exact_sum_(gradient_buffer_.last(extra_scalars_));
    sum_.sum(gradient_buffer_.first(gradient_buffer_.size() - extra_scalars_));
  }

  [[nodiscard]] rank_memory local_memory() const noexcept override { return rank_memory::strategy; }
  [[nodiscard]] float momentum() const noexcept override {
    if constexpr (requires { sum_.momentum(); }) {
      return sum_.momentum();
    } else {
      return 0;
    }
  }
  void save(packer& output) override { sum_.save(output); }
  [[nodiscard]] bool load(unpacker& input, std::size_t weights) override { return sum_.load(input, weights); }

 private:
  Communicator world_;
  tutti::broadcast<Communicator, binary_tree> broadcast_;
  allreduce<Communicator, direct, tutti::sum<float>> exact_sum_;
  Sum sum_;
  std::size_t extra_scalars_;
  std::span<float> gradient_buffer_;
};

}  // namespace tutti::nn
