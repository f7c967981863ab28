// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/simulation/detail/layer_timetable.hpp>
#include <tutti/nn/simulation/detail/slowdown.hpp>
#include <tutti/nn/simulation/simulated_speed.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// A learner that computes at a simulated speed, or spends the time of a gradient without computing it.
///
///     auto computes = tutti::nn::make_learner(
///         tutti::nn::model<float>(layers, tutti::nn::replica::extra_scalars), settings);
///     tutti::nn::replica mine(std::make_unique<tutti::nn::simulated_learner>(
///                                 std::move(computes), tutti::nn::simulated_speed{.factor = 2}, settings.seed, rank),
///                             images, tests, settings, rank, size);
class simulated_learner final : public learner_adaptor {
 public:
  /// @param seed,rank determine the random factors
  /// @pre factors of 1 or more, and no negative time
  simulated_learner(std::unique_ptr<learner> inner, simulated_speed const& speed, std::uint64_t seed, rank_type rank)
      : learner_adaptor(std::move(inner)),
        speed_(speed),
        seed_(seed),
        rank_(rank),
        timetable_(ranges(), multiply_adds()) {
    expects(speed.factor >= 1 && speed.max_random_factor >= 1,
            "simulated speed: factors of slowness must be 1 or more, not ", speed.factor, " and up to ",
            speed.max_random_factor);
    expects(speed.seconds_per_image >= 0, "simulated speed: the time of a gradient must be 0 or more, not ",
            speed.seconds_per_image, " s an image");
  }

  [[nodiscard]] bool reads_images() const override { return speed_.computes(); }

  void reserve(std::size_t rows) override {
    if (speed_.computes()) {
      learner_adaptor::reserve(rows);
    }
  }
  void initialise(std::uint64_t seed) override {
    if (speed_.computes()) {
      learner_adaptor::initialise(seed);
    }
  }
  void begin() override {
    slowdown_.resume();
    learner_adaptor::begin();
  }
  void gradient(image_batch const& images, batch_context<float> const& context, float scale, bool last,
                gradient_listener& listener) override {
    double const factor = speed_.factor_at(seed_, rank_, context.step);
    if (!speed_.computes()) {
      simulate(images.labels.size(), factor, listener);
      return;
    }
    slowdown_.set(factor);
    paced_listener passed_on(slowdown_, listener);
    learner_adaptor::gradient(images, context, scale, last, passed_on);
  }
  void clear_gradients(gradient_listener& listener) override {
    if (!speed_.computes()) {
      simulate(0, 1, listener);
      return;
    }
    slowdown_.set(1);
    learner_adaptor::clear_gradients(listener);
  }
  [[nodiscard]] batch_metrics<float> test(image_batch const& images) override {
    return speed_.computes() ? learner_adaptor::test(images) : batch_metrics<float>{};
  }

 private:
  /// Passes on completed parts. The listener's time does not count as computing.
  class paced_listener final : public gradient_listener {
   public:
    paced_listener(detail::slowdown& rest, gradient_listener& inner) noexcept : rest_(rest), inner_(inner) {}

    void on_completion(std::size_t first) override {
      rest_.hold();
      inner_.on_completion(first);
      rest_.resume();
    }
    [[nodiscard]] bool is_on_device() const noexcept override { return inner_.is_on_device(); }
    void on_enqueue(std::size_t first) override { inner_.on_enqueue(first); }

   private:
    detail::slowdown& rest_;
    gradient_listener& inner_;
  };

  void simulate(std::size_t images, double factor, gradient_listener& listener) {
    expects(!listener.is_on_device(),
            "replica: a simulated gradient is in host memory; use a strategy that sums there");
    double const seconds = factor * speed_.seconds_per_image * static_cast<double>(images);
    timetable_.run(duration(static_cast<duration::rep>(seconds * 1e9)), gradient_buffer().size(), listener);
  }

  simulated_speed speed_;
  std::uint64_t seed_;
  rank_type rank_;
  detail::slowdown slowdown_;
  detail::layer_timetable timetable_;
};

/// Returns the learner itself, or one at a simulated speed if that differs from the real one.
[[nodiscard]] inline std::unique_ptr<learner> at_speed(std::unique_ptr<learner> computes, simulated_speed const& speed,
                                                       std::uint64_t seed, rank_type rank) {
  if (speed.is_real()) {
    return computes;
  }
  return std::make_unique<simulated_learner>(std::move(computes), speed, seed, rank);
}

}  // namespace tutti::nn
