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

struct watching {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
  void epoch(tutti::nn::epoch_result const&) {}
};
struct watching_steps {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) {}
};
struct watching_epochs {
  void epoch(tutti::nn::epoch_result const&) {}
};
struct watching_as_const {
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const {}
  void epoch(tutti::nn::epoch_result const&) const {}
};
struct own : tutti::nn::local_only {
  void average_weights(std::span<float> /*weights*/) override {}
};
struct options {
  int epochs = 0;
};

void train(tutti::nn::replica& model, options const& of) {
  model.start(static_cast<std::size_t>(of.epochs));
}
void train(tutti::nn::replica& model, world_type&, options const&, std::size_t epoch) {
  model.start(epoch);
}

void use(tutti::nn::replica& model, world_type& world, own& ranks, watching& mine) {
  watching_as_const const read_only;
  options chosen;
  watching_steps steps_alone;
  own const constant_ranks;
  watching const constant;

  tutti::nn::train(model, ranks, mine, read_only);
  train(model, ranks, mine);
  train(model, chosen);
  train(model, world, chosen, 1);
#ifdef MISTAKE
  tutti::nn::train(model, ranks, steps_alone);        // error: this observer lacks: void epoch
  tutti::nn::train(model, ranks, watching_steps());   // error: this observer lacks: void epoch
  tutti::nn::train(model, ranks, mine, watching());   // error: this observer is a temporary
  tutti::nn::train(model, ranks, constant);           // error: this observer is const, and its members are not
  tutti::nn::train(model, ranks, watching_epochs());  // error: this observer lacks: void step
  tutti::nn::train(model, own());                     // error: this strategy is a temporary
  tutti::nn::train(model, constant_ranks);            // error: this strategy is const, and its members are not
#endif
}

int main() {}
