// SPDX-License-Identifier: Apache-2.0
//
// A training program of your own (docs/trainer/own-training.md): a network learns which points of a plane are inside a
// ring, by a loop by hand and by nn::train with an observer. Both end with the same weights, bit for bit.
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/tutti.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace nn = tutti::nn;

// Your data: bytes, and a class for each sample. Two numbers of a sample are one "image" of 1 x 2 pixels.
nn::dataset points(std::size_t count, std::uint64_t seed) {
  nn::dataset set{{1, 1, 2}, 2, {}, {}};
  nn::random_sequence random(seed, 0);
  for (std::size_t i = 0; i != count; ++i) {
    auto const x = static_cast<int>(random.draw_below(256));
    auto const y = static_cast<int>(random.draw_below(256));
    int const distance = (x - 128) * (x - 128) + (y - 128) * (y - 128);
    set.pixels.push_back(static_cast<std::uint8_t>(x));
    set.pixels.push_back(static_cast<std::uint8_t>(y));
    set.labels.push_back(distance > 40 * 40 && distance < 100 * 100 ? 1 : 0);
  }
  return set;
}

// This rank's copy of the model, with its part of the data.
nn::replica replica_of(nn::data_pair const& data, nn::settings const& settings, tutti::rank_type rank,
                       tutti::rank_type size) {
  constexpr std::array<std::size_t, 2> hidden_sizes{32, 32};
  auto const layers = nn::mlp<float>(2, hidden_sizes, 2, nn::hidden_activation::relu);
  return nn::replica(nn::model<float>(layers, nn::replica::extra_scalars), data.training, data.test, settings, rank,
                     size);
}

// One step computes gradients of this rank's part of the batch, sums them over all ranks, and updates each model.
void train_by_hand(nn::replica& model, nn::summing_strategy& ranks) {
  ranks.broadcast(model.parameters());  // sends the weights of rank 0 to all
  for (std::size_t epoch = 0; epoch != model.settings().epochs; ++epoch) {
    model.start(epoch);
    for (std::size_t b = 0; b != model.batches(); ++b) {
      ranks.begin(model.gradient_buffer());
      model.gradient(b, ranks);  // the strategy sums gradients as soon as they are complete
      ranks.finish();            // the buffer holds the sum over all ranks
      model.update(model.settings().rate);
    }
  }
}

// An observer of steps and epochs.
struct progress {
  void step(nn::step_result const&, nn::replica const&) {}
  void epoch(nn::epoch_result const& result) {
    if (prints) {
      std::printf("epoch %zu: loss %.3f, %.1f %% right\n", result.epoch + 1, result.test_loss,
                  100 * result.test_accuracy);
    }
  }

  bool prints;
};

int main() {
  nn::data_pair const data{points(4000, 1), points(1000, 2)};
  nn::settings settings;
  settings.epochs = 12;
  settings.batch = 50;
  settings.rate = 0.05F;
  settings.schedule = nn::rate_schedule_kind::constant;

  auto const results = tutti::spawn<tutti::loopback>(4, [&](auto& world) {
    nn::synchronous ranks(world, tutti::ring{});
    auto replica = replica_of(data, settings, world.rank(), world.size());
    train_by_hand(replica, ranks);
    auto const metrics = replica.test();  // on this rank's part of the test set
    std::array<float, 1> correct{metrics.correct};
    ranks.sum(correct);

    auto reference = replica_of(data, settings, world.rank(), world.size());
    progress observer{world.rank() == 0};
    nn::train(reference, ranks, observer);
    bool const equal = std::ranges::equal(replica.parameters(), reference.parameters());
    return equal ? correct[0] / static_cast<float>(data.test.size()) : 0.0F;
  });

  bool good = true;
  for (auto const& result : results) {
    good = good && result.value() > 0.9F;
  }
  std::printf("by hand: %.1f %% right, on all ranks with the weights of nn::train: %s\n",
              100.0 * static_cast<double>(results[0].value()), good ? "yes" : "no");
  return good ? 0 : 1;
}
