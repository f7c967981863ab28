// error: this is no strategy: give one, such as tutti::nn::synchronous ranks\(world\)
// SPDX-License-Identifier: Apache-2.0
//
// A communicator in place of a strategy is refused; the error names a strategy to use.

#include <tutti/communicator.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::nn::replica& model, tutti::communicator<tutti::loopback>& world) {
  tutti::nn::local_only ranks;
#ifndef MISTAKE
  static_cast<void>(world);
  tutti::nn::train(model, ranks);
#else
  tutti::nn::train(model, world);
#endif
}

int main() {}
