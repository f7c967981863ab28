// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// A strategy chosen at run time: one type, so that what is trained by it is compiled once. It refers to the strategy,
/// which outlives it. A step calls it a few times, and once for each layer.
class any_strategy {
 public:
  /// Stands for a strategy, which must outlive it.
  template <strategy Strategy>
  explicit any_strategy(Strategy& inner) : held_(std::make_unique<holding<Strategy>>(inner)) {}

  [[nodiscard]] rank_type rank() const { return held_->rank(); }
  [[nodiscard]] rank_type size() const { return held_->size(); }
  [[nodiscard]] bool equal() const { return held_->equal(); }
  [[nodiscard]] bool takes_part() const { return held_->takes_part(); }
  void share(std::span<float> numbers) { held_->share(numbers); }
  void sum(std::span<float> numbers) { held_->sum(numbers); }
  /// @pre the strategy adds accumulators
  void sum(std::span<binned const> sums, std::span<float> numbers) { held_->sum(sums, numbers); }
  void begin(std::span<float> message) { held_->begin(message); }
  void completed(std::size_t first) { held_->completed(first); }
  score_of step(training_step auto& step) {
    step_of<std::remove_reference_t<decltype(step)>> one(step);
    return held_->step(one);
  }
  void unite(std::span<float> parameters) { held_->unite(parameters); }
  void resume(std::span<float> parameters) { held_->resume(parameters); }
  [[nodiscard]] rank_memory remembers() const { return held_->remembers(); }
  [[nodiscard]] float momentum() const { return held_->momentum(); }
  void save(packer& to) { held_->save(to); }
  [[nodiscard]] bool load(unpacker& from, std::size_t weights) { return held_->load(from, weights); }

 private:
  struct any_step {
    any_step() = default;
    any_step(any_step const&) = delete;
    any_step& operator=(any_step const&) = delete;
    virtual std::span<float> parameters() = 0;
    virtual std::span<float> message() = 0;
    [[nodiscard]] virtual std::size_t samples() const = 0;
    [[nodiscard]] virtual float learning_rate() const = 0;
    virtual void update() = 0;
    virtual void update_alone() = 0;

   protected:
    ~any_step() = default;
  };
  template <class Step>
  struct step_of final : any_step {
    explicit step_of(Step& one) : inner(one) {}
    std::span<float> parameters() override { return inner.parameters(); }
    std::span<float> message() override { return inner.message(); }
    [[nodiscard]] std::size_t samples() const override { return inner.samples(); }
    [[nodiscard]] float learning_rate() const override { return inner.learning_rate(); }
    void update() override { inner.update(); }
    void update_alone() override { inner.update_alone(); }
    Step& inner;
  };

  struct holder {
    holder() = default;
    holder(holder const&) = delete;
    holder& operator=(holder const&) = delete;
    virtual ~holder() = default;
    [[nodiscard]] virtual rank_type rank() const = 0;
    [[nodiscard]] virtual rank_type size() const = 0;
    [[nodiscard]] virtual bool equal() const = 0;
    [[nodiscard]] virtual bool takes_part() const = 0;
    virtual void share(std::span<float>) = 0;
    virtual void sum(std::span<float>) = 0;
    virtual void sum(std::span<binned const>, std::span<float>) = 0;
    virtual void begin(std::span<float>) = 0;
    virtual void completed(std::size_t) = 0;
    virtual score_of step(any_step&) = 0;
    virtual void unite(std::span<float>) = 0;
    virtual void resume(std::span<float>) = 0;
    [[nodiscard]] virtual rank_memory remembers() const = 0;
    [[nodiscard]] virtual float momentum() const = 0;
    virtual void save(packer&) = 0;
    [[nodiscard]] virtual bool load(unpacker&, std::size_t) = 0;
  };
  template <class Strategy>
  struct holding final : holder {
    explicit holding(Strategy& one) : inner(one) {}
    [[nodiscard]] rank_type rank() const override { return inner.rank(); }
    [[nodiscard]] rank_type size() const override { return inner.size(); }
    [[nodiscard]] bool equal() const override { return inner.equal(); }
    [[nodiscard]] bool takes_part() const override { return inner.takes_part(); }
    void share(std::span<float> numbers) override { inner.share(numbers); }
    void sum(std::span<float> numbers) override { inner.sum(numbers); }
    void sum(std::span<binned const> sums, std::span<float> numbers) override {
      if constexpr (adds_accumulators<Strategy>) {
        inner.sum(sums, numbers);
      } else {
        expects(sums.empty(),
                "any_strategy: a reproducible replica needs a strategy that adds accumulators; use the strategy "
                "reproducible");
      }
    }
    void begin(std::span<float> message) override { inner.begin(message); }
    void completed(std::size_t first) override { inner.completed(first); }
    score_of step(any_step& step) override { return inner.step(step); }
    void unite(std::span<float> parameters) override { inner.unite(parameters); }
    void resume(std::span<float> parameters) override { inner.resume(parameters); }
    [[nodiscard]] rank_memory remembers() const override { return inner.remembers(); }
    [[nodiscard]] float momentum() const override { return momentum_of(inner); }
    void save(packer& to) override { inner.save(to); }
    [[nodiscard]] bool load(unpacker& from, std::size_t weights) override { return inner.load(from, weights); }
    Strategy& inner;
  };

  std::unique_ptr<holder> held_;
};

}  // namespace tutti::nn
