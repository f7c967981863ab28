// error: this observer lacks: void epoch\(tutti::nn::epoch_result const&\)
// SPDX-License-Identifier: Apache-2.0
//
// An observer that lacks a member is refused where a training begins, and the member is named.

#include <tutti/nn/strategy/alone.hpp>
#include <tutti/nn/trainer.hpp>

struct watching {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
#ifndef MISTAKE
  void epoch(tutti::nn::epoch_result const&) {}
#endif
};

void use(tutti::nn::replica& model, watching& mine) {
  tutti::nn::alone ranks;
  tutti::nn::train(model, ranks, mine);
}

int main() {}
