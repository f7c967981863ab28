// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// A strategy that also records this rank's computing with the communicator's tracer. Otherwise it equals the inner
/// strategy. Where gradients are summed on a device, "gradient" ends when their computation has been enqueued.
template <class Communicator>
class traced_strategy : public strategy_adaptor {
 public:
  /// @pre world and inner outlive this
  traced_strategy(Communicator& world, strategy& inner) : strategy_adaptor(inner), world_(world.alias()) {}

  void sum(std::span<float> numbers) override {
    end_test();
    strategy_adaptor::sum(numbers);
  }
  void sum_accumulators(std::span<binned_sum const> sums, std::span<float> numbers) override {
    end_test();
    strategy_adaptor::sum_accumulators(sums, numbers);
  }
  void begin(std::span<float> gradient_buffer) override {
    strategy_adaptor::begin(gradient_buffer);
    record_event(event_kind::enter, "gradient");
  }
  [[nodiscard]] bool begin_on_device(any_device_gradient_buffer const& gradient_buffer) override {
    bool const is_begun = strategy_adaptor::begin_on_device(gradient_buffer);
    if (is_begun) {  // else `begin` follows
      record_event(event_kind::enter, "gradient");
    }
    return is_begun;
  }
  metrics_scope step(training_step& step) override {
    if (participates()) {
      record_event(event_kind::leave, "gradient");
    }
    traced_step step_view(*this, step);
    return strategy_adaptor::step(step_view);
  }
  /// Begins the test; the sum of its metrics ends it.
  void average_weights(std::span<float> weights) override {
    strategy_adaptor::average_weights(weights);
    is_testing_ = true;
    record_event(event_kind::enter, "test");
  }

 private:
  class traced_step : public step_adaptor {
   public:
    traced_step(traced_strategy& owner, training_step& inner) : step_adaptor(inner), owner_(owner) {}

    void update() override {
      owner_.record_event(event_kind::enter, "update");
      step_adaptor::update();
      owner_.record_event(event_kind::leave, "update");
    }
    void update_local() override {
      owner_.record_event(event_kind::enter, "update");
      step_adaptor::update_local();
      owner_.record_event(event_kind::leave, "update");
    }

   private:
    traced_strategy& owner_;
  };

  void end_test() {
    if (std::exchange(is_testing_, false)) {
      record_event(event_kind::leave, "test");
    }
  }

  void record_event(event_kind kind, std::string_view text) {
    record(world_.trace(), [&] { return event{.kind = kind, .time = world_.transport().now(), .text = text}; });
  }

  Communicator world_;
  bool is_testing_ = false;
};

}  // namespace tutti::nn
