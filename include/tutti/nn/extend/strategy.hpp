// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/packing.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/reduction/binned.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// What of a training is a rank's own between steps, so that no other rank's can stand for it.
enum class rank_memory {
  none,      ///< nothing but what its layers remember: weights and optimizers of all ranks are alike
  strategy,  ///< what its strategy remembers, such as gradients that it owes
  replica    ///< and its weights and its optimizer
};

/// The ranks of whose images the numbers behind the gradients are, once a step is made.
enum class score_of { all_ranks, this_rank };

/// One step of a replica, from its gradient to its next weights, as a strategy sees it.
///
/// `message()` holds this rank's share of the gradient of the mean loss over the batch of all ranks, and
/// behind it the same share of that loss and of the accuracy; `samples()` says of how many images, which may
/// be none; `learning_rate()` is the step's. `update()` lets the weights follow the message as it is: it is meant to be
/// the sum over ranks. `update_alone()` makes the message the mean over this rank's own images first; without any it
/// does nothing. Both are computing, and timed as such; what else a strategy does is exchange.
template <class T>
concept training_step = requires(T& step, T const& constant) {
  { step.parameters() } -> std::same_as<std::span<float>>;
  { step.message() } -> std::same_as<std::span<float>>;
  { constant.samples() } -> std::same_as<std::size_t>;
  { constant.learning_rate() } -> std::same_as<float>;
  { step.update() } -> std::same_as<void>;
  { step.update_alone() } -> std::same_as<void>;
};

namespace detail {

/// Stands for any step that a strategy is given.
struct some_step {
  static std::span<float> parameters() noexcept { return {}; }
  static std::span<float> message() noexcept { return {}; }
  static std::size_t samples() noexcept { return 0; }
  static float learning_rate() noexcept { return 0; }
  static void update() noexcept {}
  static void update_alone() noexcept {}
};

static_assert(training_step<some_step>);

}  // namespace detail

/// How the replicas of a model learn from each other: what happens between a rank's gradient and its next
/// step. The trainer knows ranks through this alone.
///
/// `share` replaces the numbers on every rank by those of rank 0. `sum` replaces them by their sums over all
/// ranks, with the same bits everywhere. Both are for all ranks together.
///
/// A step: if `takes_part()`, `begin` says where the gradients will be, `completed(first)`, called any number of
/// times, that those from `first` to the end are final and now the strategy's; it never waits. Then `step` makes
/// the step, on every rank, whether it took part or not, and says whose loss and accuracy are then behind the
/// gradients. If it says all ranks', every rank says so at that step, and has the same bits there.
///
/// `unite` makes the weights, on all ranks, those of the model that the replicas are together, with the same
/// bits; `resume` gives every rank its own back, to go on with. Between the two no step is made.
///
/// `equal()`: the weights of all ranks are the same bits after every step, so `unite` and `resume` do nothing,
/// all ranks take part in every step, and each step's score is that of all ranks.
///
/// For checkpoints: `remembers()` says what is each rank's own. `save` writes what this rank's strategy remembers
/// between steps; all ranks call it after the same step, and it may wait for what is under way. `load` makes a strategy
/// that has made no step yet remember it again, of a model of this many weights, on the same rank of as many; false if
/// these are the bytes of something else.
template <class S>
concept strategy = requires(S& s, S const& c, std::span<float> numbers, std::size_t first, detail::some_step& step,
                            packer& to, unpacker& from) {
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { c.equal() } -> std::same_as<bool>;
  { c.takes_part() } -> std::same_as<bool>;
  { s.share(numbers) } -> std::same_as<void>;
  { s.sum(numbers) } -> std::same_as<void>;
  { s.begin(numbers) } -> std::same_as<void>;
  { s.completed(first) } -> std::same_as<void>;
  { s.step(step) } -> std::same_as<score_of>;
  { s.unite(numbers) } -> std::same_as<void>;
  { s.resume(numbers) } -> std::same_as<void>;
  { c.remembers() } -> std::same_as<rank_memory>;
  { s.save(to) } -> std::same_as<void>;
  { s.load(from, first) } -> std::same_as<bool>;
};

namespace detail {

/// Compiles for strategies only; else the first error names what is missing.
template <class S>
constexpr void expect_strategy() {
  using numbers = std::span<float>;
  static_assert(
      requires(S const& c) {
        { c.rank() } -> std::same_as<rank_type>;
      }, "this strategy lacks: tutti::rank_type rank() const");
  static_assert(
      requires(S const& c) {
        { c.size() } -> std::same_as<rank_type>;
      }, "this strategy lacks: tutti::rank_type size() const");
  static_assert(
      requires(S const& c) {
        { c.equal() } -> std::same_as<bool>;
      }, "this strategy lacks: bool equal() const");
  static_assert(
      requires(S const& c) {
        { c.takes_part() } -> std::same_as<bool>;
      }, "this strategy lacks: bool takes_part() const");
  static_assert(
      requires(S& s, numbers n) {
        { s.share(n) } -> std::same_as<void>;
      }, "this strategy lacks: void share(std::span<float> numbers)");
  static_assert(
      requires(S& s, numbers n) {
        { s.sum(n) } -> std::same_as<void>;
      }, "this strategy lacks: void sum(std::span<float> numbers)");
  static_assert(
      requires(S& s, numbers n) {
        { s.begin(n) } -> std::same_as<void>;
      }, "this strategy lacks: void begin(std::span<float> message)");
  static_assert(
      requires(S& s, std::size_t first) {
        { s.completed(first) } -> std::same_as<void>;
      }, "this strategy lacks: void completed(std::size_t first)");
  static_assert(
      requires(S& s, some_step& step) {
        { s.step(step) } -> std::same_as<score_of>;
      }, "this strategy lacks: tutti::nn::score_of step(tutti::nn::training_step auto& step)");
  static_assert(
      requires(S& s, numbers n) {
        { s.unite(n) } -> std::same_as<void>;
      }, "this strategy lacks: void unite(std::span<float> weights)");
  static_assert(
      requires(S& s, numbers n) {
        { s.resume(n) } -> std::same_as<void>;
      }, "this strategy lacks: void resume(std::span<float> weights)");
  static_assert(
      requires(S const& c) {
        { c.remembers() } -> std::same_as<rank_memory>;
      }, "this strategy lacks: tutti::nn::rank_memory remembers() const");
  static_assert(
      requires(S& s, packer& to) {
        { s.save(to) } -> std::same_as<void>;
      }, "this strategy lacks: void save(tutti::packer& to)");
  static_assert(
      requires(S& s, unpacker& from, std::size_t weights) {
        { s.load(from, weights) } -> std::same_as<bool>;
      }, "this strategy lacks: bool load(tutti::unpacker& from, std::size_t weights)");
  static_assert(strategy<S>);
}

}  // namespace detail

/// Strategies, and what they consist of, that keep a momentum which runs before gradients are summed.
template <class S>
concept keeps_momentum = requires(S const& s) {
  { s.momentum() } -> std::same_as<float>;
};

/// The momentum that a strategy keeps; 0: none.
template <class S>
[[nodiscard]] float momentum_of(S const& s) {
  if constexpr (keeps_momentum<S>) {
    return s.momentum();
  } else {
    return 0;
  }
}

/// Strategies that also add the accumulators of reproducible replicas over all ranks, and round the sums.
template <class S>
concept adds_accumulators =
    requires(S& s, std::span<binned const> sums, std::span<float> numbers) { s.sum(sums, numbers); };

}  // namespace tutti::nn
