// SPDX-License-Identifier: Apache-2.0
//
// Some layers on each rank; a batch goes through them in micro-batches.
#include "train_part.hpp"
#include <tutti/nn/parallel/pipeline.hpp>
#include <tutti/nn/zoo/mlp.hpp>

namespace nn = tutti::nn;

namespace {

template <class Schedule>
reports train_with(job const& work) {
  std::vector<std::size_t> const hidden_sizes(work.options.depth, work.options.width);
  auto const& data = work.data.training;
  auto const layers = nn::mlp<float>(data.features(), hidden_sizes, data.classes, nn::hidden_activation::relu);
  return spawn_counted(work, [&]<class World>(World& world) {
    using model = nn::pipeline<float, World, Schedule>;
    return train_part(world, work, [&] {
      return std::make_unique<model>(world, layers, work.options.batch, work.options.micro_batches);
    });
  });
}

}  // namespace

reports train_pipeline(job const& work) {
  return work.options.schedule == "gpipe" ? train_with<nn::gpipe>(work)
                                          : train_with<nn::one_forward_one_backward>(work);
}
