// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/loss/score.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Things after one another: samples of a batch, units of a layer, numbers of an image.
struct range {
  std::size_t first = 0;  ///< the first of them
  std::size_t count = 0;  ///< how many there are

  friend constexpr bool operator==(range const&, range const&) = default;
};

/// What of a batch's images a rank is to be given: some of its samples, and some of the numbers of each.
struct batch_part {
  range samples;  ///< which images
  range numbers;  ///< which numbers of each
};

/// A model of which every rank holds a part, for batches of a fixed number of samples. All ranks call the
/// same functions in the same order; each gives `images()` of the batch, as a matrix, and the labels of the
/// samples `scored()`. Either may be empty.
///
/// `gradient` computes the gradients of the mean loss over the batch by the rank's own parameters: after it
/// every rank makes the same step of an optimizer for itself. It returns the score of the samples `scored()`;
/// every sample of a batch is scored on one rank. `test` only scores.
///
/// Laws (test/nn/parallel_*.cpp), for any number of ranks: with the same seed the scores of all steps add up
/// to those of the model in one piece, up to rounding; what several ranks hold alike stays alike, in bits.
template <class M>
concept divided_model = requires(M& m, M const& c, matrix_view<typename M::value_type const> const& images,
                                 std::span<std::uint8_t const> labels, std::uint64_t seed) {
  { c.images() } -> std::same_as<batch_part>;
  { c.scored() } -> std::same_as<range>;
  { m.parameters() } -> std::same_as<std::span<typename M::value_type>>;
  { m.gradients() } -> std::same_as<std::span<typename M::value_type>>;
  { m.initialise(seed) } -> std::same_as<void>;
  { m.gradient(images, labels) } -> std::same_as<score<typename M::value_type>>;
  { m.test(images, labels) } -> std::same_as<score<typename M::value_type>>;
};

}  // namespace tutti::nn
