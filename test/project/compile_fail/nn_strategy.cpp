// error: this strategy lacks: void unite\(std::span<float> weights\)
// SPDX-License-Identifier: Apache-2.0
//
// A strategy that lacks a member is refused where a training begins, and the member is named.

#include <tutti/nn/strategy/alone.hpp>
#include <tutti/nn/trainer.hpp>

struct own : tutti::nn::alone {
#ifdef MISTAKE
  void unite() {}  // hides that of `alone`
#endif
};

void use(tutti::nn::replica& model, own& ranks) {
  tutti::nn::train(model, ranks);
}

int main() {}
