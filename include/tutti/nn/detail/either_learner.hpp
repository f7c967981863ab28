// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/learner.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// One of several learners, chosen at run time by what it is made of. It computes what that one does, bit for bit, but
/// has no `on_device`: strategies sum its messages in host memory.
template <learner... Learners>
class either_learner {
 public:
  using made_of = std::variant<typename Learners::made_of...>;

  either_learner(made_of what, nn::settings const& settings) : chosen_(make(what, settings)) {}

  [[nodiscard]] std::size_t inputs() const {
    return std::visit([](auto const& one) { return one.inputs(); }, chosen_);
  }
  [[nodiscard]] std::size_t outputs() const {
    return std::visit([](auto const& one) { return one.outputs(); }, chosen_);
  }
  [[nodiscard]] std::vector<parameter_range> ranges() const {
    return std::visit([](auto const& one) { return one.ranges(); }, chosen_);
  }
  [[nodiscard]] std::vector<double> products() const {
    return std::visit([](auto const& one) { return one.products(); }, chosen_);
  }
  [[nodiscard]] std::span<float> parameters() {
    return std::visit([](auto& one) { return one.parameters(); }, chosen_);
  }
  [[nodiscard]] std::span<float const> parameters() const {
    return std::visit([](auto const& one) { return one.parameters(); }, chosen_);
  }
  [[nodiscard]] std::span<float> message() {
    return std::visit([](auto& one) { return one.message(); }, chosen_);
  }
  [[nodiscard]] score<float> attached() {
    return std::visit([](auto& one) { return one.attached(); }, chosen_);
  }
  [[nodiscard]] std::span<float> statistics() {
    return std::visit([](auto& one) { return one.statistics(); }, chosen_);
  }
  [[nodiscard]] std::span<float> optimizer_state() {
    return std::visit([](auto& one) { return one.optimizer_state(); }, chosen_);
  }
  [[nodiscard]] std::span<binned const> sums() const {
    return std::visit([](auto const& one) { return one.sums(); }, chosen_);
  }

  void reserve(std::size_t rows) {
    std::visit([=](auto& one) { one.reserve(rows); }, chosen_);
  }
  void initialise(std::uint64_t seed) {
    std::visit([=](auto& one) { one.initialise(seed); }, chosen_);
  }
  void expect_pieces() {
    std::visit([](auto& one) { one.expect_pieces(); }, chosen_);
  }
  void begin() {
    std::visit([](auto& one) { one.begin(); }, chosen_);
  }
  void gradient(batch_loader::batch const& images, pass<float> const& how, float scale, bool last,
                gradient_listener& listener) {
    std::visit([&](auto& one) { one.gradient(images, how, scale, last, listener); }, chosen_);
  }
  void nothing(gradient_listener& listener) {
    std::visit([&](auto& one) { one.nothing(listener); }, chosen_);
  }
  void multiply(float factor) {
    std::visit([=](auto& one) { one.multiply(factor); }, chosen_);
  }
  void update(float rate) {
    std::visit([=](auto& one) { one.update(rate); }, chosen_);
  }
  [[nodiscard]] score<float> test(batch_loader::batch const& images) {
    return std::visit([&](auto& one) { return one.test(images); }, chosen_);
  }

 private:
  using learners = std::variant<Learners...>;

  template <std::size_t Index = 0>
  static learners make(made_of& what, nn::settings const& settings) {
    if constexpr (Index + 1 != sizeof...(Learners)) {
      if (what.index() != Index) {
        return make<Index + 1>(what, settings);
      }
    }
    return learners(std::in_place_index<Index>, std::get<Index>(std::move(what)), settings);
  }

  learners chosen_;
};

}  // namespace tutti::nn::detail
