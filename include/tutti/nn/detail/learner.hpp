// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/data/batch_loader.hpp>
#include <tutti/nn/gradient_listener.hpp>
#include <tutti/nn/loss/score.hpp>
#include <tutti/nn/parameter_range.hpp>
#include <tutti/nn/pass.hpp>
#include <tutti/nn/settings.hpp>
#include <tutti/reduction/binned.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// What computes for a replica: a model with its optimizer, on the host or on a device. It knows batches, but neither
/// ranks nor where images come from.
///
///   - Made of `made_of` and the settings. `reserve(rows)` makes room for batches of so many rows, `initialise(seed)`
///     draws the first weights, the same as of a host's model of the same layers; neither is called where gradients are
///     not computed. `expect_pieces()`: from now on a message may be the sum over several pieces of a batch.
///   - `parameters`, `message`, `statistics`, `optimizer_state` are host memory, laid out as `model` says. They may be
///     written, if the learner is not const, until it computes again, which then reads what was written; what it
///     computed is to be asked for again. `sums` are a reproducible learner's accumulators.
///   - `begin()`, then `gradient(images, how, scale, last, listener)` for each piece of a batch: the message becomes
///     `scale` times the gradients, the loss and the number of correct answers, summed over the pieces since `begin`.
///     The listener of the last piece is told `completed(first)`: in `message()`, as it was when `gradient` was called,
///     all from `first` on is final. At last it is told 0.
///   - A learner on a device may have `on_device()`, a device_message; then a listener may be on the device, too.
///     `gradient` and `nothing` tell it `enqueued(first)` instead, and `update` follows what the device holds.
///   - `nothing(listener)`: the message is zeros. `attached()` are the two numbers behind the gradients.
///   - `multiply(factor)` multiplies the message, `update(rate)` follows it, as the host memory holds it.
///   - `test(images)` is the score of a batch, summed.
template <class L>
concept learner = std::move_constructible<L> &&
                  requires(L& l, L const& c, typename L::made_of made, settings const& settings, std::size_t rows,
                           std::uint64_t seed, batch_loader::batch const& images, pass<float> const& how, float number,
                           bool last, gradient_listener& listener) {
                    requires std::constructible_from<L, typename L::made_of, nn::settings const&>;
                    { c.inputs() } -> std::same_as<std::size_t>;
                    { c.outputs() } -> std::same_as<std::size_t>;
                    { c.ranges() } -> std::same_as<std::vector<parameter_range>>;
                    { c.products() } -> std::same_as<std::vector<double>>;
                    { l.parameters() } -> std::same_as<std::span<float>>;
                    { c.parameters() } -> std::same_as<std::span<float const>>;
                    { l.message() } -> std::same_as<std::span<float>>;
                    { l.statistics() } -> std::same_as<std::span<float>>;
                    { l.optimizer_state() } -> std::same_as<std::span<float>>;
                    { c.sums() } -> std::same_as<std::span<binned const>>;
                    l.reserve(rows);
                    l.initialise(seed);
                    l.expect_pieces();
                    l.begin();
                    l.gradient(images, how, number, last, listener);
                    l.nothing(listener);
                    l.multiply(number);
                    { l.attached() } -> std::same_as<score<float>>;
                    l.update(number);
                    { l.test(images) } -> std::same_as<score<float>>;
                  };

}  // namespace tutti::nn::detail
