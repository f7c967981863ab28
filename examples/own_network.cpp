// SPDX-License-Identifier: Apache-2.0
//
// Builds a convolutional network, trains it on two ranks, and predicts the class of an image.
// docs/trainer/own-training.md explains each part.
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/progress.hpp>
#include <tutti/nn/saved_model/classifier.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/stack.hpp>
#include <tutti/tutti.hpp>

namespace nn = tutti::nn;

int main() {
  nn::data_pair const data{nn::digits(4000, 1), nn::digits(1000, 1, 4000)};  // drawn digits of 28 x 28 pixels
  auto const& images = data.training;
  nn::stack<float> network(images.shape);
  network.add<nn::conv2d<float, nn::relu>>(nn::convolution{8, {5}}).add<nn::max_pool<float>>(nn::window{2, 2});
  network.add<nn::conv2d<float, nn::relu>>(nn::convolution{16, {5}}).add<nn::max_pool<float>>(nn::window{2, 2});
  auto const layers = network.add_dense<nn::relu>(64).add_dense<nn::identity>(images.classes).take();
  nn::settings const settings{.epochs = 5, .batch = 50, .rate = 0.05F};

  auto const answers = tutti::spawn<tutti::loopback>(2, [&](auto& world) {
    nn::model<float> model(layers, nn::replica::extra_scalars);
    nn::replica replica(std::move(model), images, data.test, settings, world.rank(), world.size());
    nn::synchronous ranks(world, tutti::ring{});  // sums the gradients of both ranks in each step
    nn::progress progress(world.rank() == 0 ? stdout : nullptr, settings.epochs, images.size());
    nn::train(replica, ranks, progress);
    nn::classifier classifier(nn::describe(layers, images, nn::numbers_for(images, settings.standardise)),
                              replica.parameters(), replica.statistics());
    return classifier.predict(data.test.image(0));
  });
  auto const& answer = answers[0].value();
  std::printf("predicts %zu (%.1f %%), which is %s\n", answer.number, 100 * static_cast<double>(answer.probability),
              answer.number == data.test.labels[0] ? "right" : "wrong");
  return answer.number == data.test.labels[0] ? 0 : 1;
}
