// error: marked .*override.*, but does not override
// error by clang: marked 'override' hides virtual member function
// SPDX-License-Identifier: Apache-2.0
//
// A member of a strategy with wrong arguments is refused by name.

#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>

struct user_strategy : tutti::nn::local_only {
#ifdef MISTAKE
  void sum() override {}
#endif
};
struct user_observer {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
  void epoch(tutti::nn::epoch_result const&) {}
};

void use(tutti::nn::replica& model, user_strategy& ranks, user_observer& observer) {
  tutti::nn::train(model, ranks, observer);
}

int main() {}
