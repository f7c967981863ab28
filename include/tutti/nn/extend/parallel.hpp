// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Consecutive things: samples of a batch, units of a layer, values of an image.
struct range {
  std::size_t first = 0;  ///< index of the first
  std::size_t count = 0;  ///< number of them

  friend constexpr bool operator==(range const&, range const&) = default;
};

/// The part of a batch that a rank receives: some of its samples, and some of the values of each.
struct batch_part {
  range samples;  ///< samples of the batch
  range numbers;  ///< values of each sample
};

/// A model divided over all ranks, for batches of a fixed number of samples. All ranks call the same functions in the
/// same order; each passes the part `images()` of the batch, as a matrix, and the labels of the samples
/// `scored_samples()`. Either may be empty.
///
/// `gradient` computes the gradients of the mean loss over the batch with respect to the rank's own parameters; then
/// every rank makes the same step of an optimizer for itself. It returns the metrics of the samples `scored_samples()`;
/// every sample of a batch is measured on one rank. `test` only measures.
///
/// Laws (test/nn/parallel_*.cpp), for any number of ranks: with the same seed the metrics of all steps add up to those
/// of the undivided model, up to rounding; parameters that several ranks hold stay equal, in bits.
template <class M>
concept divided_model = requires(M& m, M const& c, matrix_view<typename M::value_type const> const& images,
                                 std::span<std::uint8_t const> labels, std::uint64_t seed) {
  { c.images() } -> std::same_as<batch_part>;
  { c.scored_samples() } -> std::same_as<range>;
  { m.parameters() } -> std::same_as<std::span<typename M::value_type>>;
  { m.gradients() } -> std::same_as<std::span<typename M::value_type>>;
  { m.initialise(seed) } -> std::same_as<void>;
  { m.gradient(images, labels) } -> std::same_as<batch_metrics<typename M::value_type>>;
  { m.test(images, labels) } -> std::same_as<batch_metrics<typename M::value_type>>;
};

}  // namespace tutti::nn
