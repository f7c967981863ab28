// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// Arguments that a training does not take: each error gives the reason. A program's own function of the same name is
// called.

#include <tutti/communicator.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/transport/loopback.hpp>

using world_type = tutti::communicator<tutti::loopback>;

struct full_observer {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
  void epoch(tutti::nn::epoch_result const&) {}
};
struct step_observer {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
};
struct epoch_observer {
  void epoch(tutti::nn::epoch_result const&) {}
};
struct const_observer {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const {}
  void epoch(tutti::nn::epoch_result const&) const {}
};
struct user_strategy : tutti::nn::local_only {
  void average_weights(std::span<float> /*weights*/) override {}
};
struct options {
  int epochs = 0;
};

void train(tutti::nn::replica& model, options const& o) {
  model.start(static_cast<std::size_t>(o.epochs));
}
void train(tutti::nn::replica& model, world_type&, options const&, std::size_t epoch) {
  model.start(epoch);
}

void use(tutti::nn::replica& model, world_type& world, user_strategy& ranks, full_observer& observer) {
  const_observer const read_only;
  options chosen_options;
  step_observer incomplete;
  user_strategy const constant_ranks;
  full_observer const constant_observer;

  tutti::nn::train(model, ranks, observer, read_only);
  train(model, ranks, observer);
  train(model, chosen_options);
  train(model, world, chosen_options, 1);
#ifdef MISTAKE
  tutti::nn::train(model, ranks, incomplete);                 // error: this observer lacks: void epoch
  tutti::nn::train(model, ranks, step_observer());            // error: this observer lacks: void epoch
  tutti::nn::train(model, ranks, observer, full_observer());  // error: this observer is a temporary
  tutti::nn::train(model, ranks, constant_observer);          // error: this observer is const, and its members are not
  tutti::nn::train(model, ranks, epoch_observer());           // error: this observer lacks: void step
  tutti::nn::train(model, user_strategy());                   // error: this strategy is a temporary
  tutti::nn::train(model, constant_ranks);                    // error: this strategy is const, and its members are not
#endif
}

int main() {}
