// error: marked .*override.*, but does not override
// error by clang: marked 'override' hides virtual member function
// SPDX-License-Identifier: Apache-2.0
//
// A member of a strategy with wrong arguments is refused by name.

#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>

struct own : tutti::nn::local_only {
#ifdef MISTAKE
  void sum() override {}
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
