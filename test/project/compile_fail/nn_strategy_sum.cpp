// error: this strategy lacks: void sum\(std::span<float> numbers\)
// SPDX-License-Identifier: Apache-2.0
//
// A strategy without a member that tells strategies from other things is refused by the member's name, too.

#include <tutti/nn/strategy/alone.hpp>
#include <tutti/nn/trainer.hpp>

struct own : tutti::nn::alone {
#ifdef MISTAKE
  void sum() {}  // hides that of `alone`
#endif
};
struct watching {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
  void epoch(tutti::nn::epoch_result const&) {}
};

void use(tutti::nn::replica& model, own& ranks, watching& mine) {
  tutti::nn::train(model, ranks, mine);
}

int main() {}
