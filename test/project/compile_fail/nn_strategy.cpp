// error: abstract type .*user_strategy
// error by clang: is an abstract class
// SPDX-License-Identifier: Apache-2.0
//
// A strategy that lacks a member is refused where one is made; the compiler lists the missing members after the error.

#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>

struct user_strategy : tutti::nn::strategy {
  [[nodiscard]] tutti::rank_type rank() const override { return 0; }
  [[nodiscard]] tutti::rank_type size() const override { return 1; }
  void broadcast(std::span<float>) override {}
  void sum(std::span<float>) override {}
#ifndef MISTAKE
  tutti::nn::metrics_scope step(tutti::nn::training_step& step) override {
    step.update();
    return tutti::nn::metrics_scope::all_ranks;
  }
#endif
};

void use(tutti::nn::replica& model) {
  user_strategy ranks;
  tutti::nn::train(model, ranks);
}

int main() {}
