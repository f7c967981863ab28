// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// A strategy that also records with its communicator's tracer when this rank computes: what it does between messages.
/// It changes nothing else.
template <class Communicator, strategy Strategy>
class traced {
 public:
  /// @pre both outlive this
  traced(Communicator& world, Strategy& inner) : world_(world.alias()), inner_(inner) {}

  [[nodiscard]] rank_type rank() const noexcept { return inner_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return inner_.size(); }
  [[nodiscard]] bool equal() const noexcept { return inner_.equal(); }
  [[nodiscard]] bool takes_part() const noexcept { return inner_.takes_part(); }

  void share(std::span<float> numbers) { inner_.share(numbers); }
  void sum(std::span<float> numbers) {
    end_test();
    inner_.sum(numbers);
  }
  void sum(std::span<binned const> sums, std::span<float> numbers)
    requires adds_accumulators<Strategy>
  {
    end_test();
    inner_.sum(sums, numbers);
  }

  void begin(std::span<float> message) {
    inner_.begin(message);
    tell(event_kind::enter, gradient);
  }
  void completed(std::size_t first) { inner_.completed(first); }
  template <training_step Step>
  score_of step(Step& step) {
    if (inner_.takes_part()) {
      tell(event_kind::leave, gradient);
    }
    traced_step<Step> recorded{*this, step};
    return inner_.step(recorded);
  }

  /// The test begins, and ends with the sum of its scores.
  void unite(std::span<float> parameters) {
    inner_.unite(parameters);
    tests_ = true;
    tell(event_kind::enter, test);
  }
  void resume(std::span<float> parameters) { inner_.resume(parameters); }
  [[nodiscard]] rank_memory remembers() const noexcept { return inner_.remembers(); }
  [[nodiscard]] float momentum() const noexcept { return momentum_of(inner_); }
  void save(packer& to) { inner_.save(to); }
  [[nodiscard]] bool load(unpacker& from, std::size_t weights) { return inner_.load(from, weights); }

 private:
  static constexpr std::string_view gradient = "gradient";
  static constexpr std::string_view update = "update";
  static constexpr std::string_view test = "test";

  template <class Step>
  struct traced_step {
    [[nodiscard]] std::span<float> parameters() { return inner.parameters(); }
    [[nodiscard]] std::span<float> message() { return inner.message(); }
    [[nodiscard]] std::size_t samples() const { return inner.samples(); }
    [[nodiscard]] float learning_rate() const { return inner.learning_rate(); }
    void update() {
      to.tell(event_kind::enter, traced::update);
      inner.update();
      to.tell(event_kind::leave, traced::update);
    }
    void update_alone() {
      to.tell(event_kind::enter, traced::update);
      inner.update_alone();
      to.tell(event_kind::leave, traced::update);
    }

    traced& to;
    Step& inner;
  };

  void end_test() {
    if (std::exchange(tests_, false)) {
      tell(event_kind::leave, test);
    }
  }

  void tell(event_kind kind, std::string_view what) {
    record(world_.trace(), [&] { return event{.kind = kind, .time = world_.transport().now(), .text = what}; });
  }

  Communicator world_;
  Strategy& inner_;
  bool tests_ = false;
};

}  // namespace tutti::nn
