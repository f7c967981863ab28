// SPDX-License-Identifier: Apache-2.0
//
// Every dense layer split over all ranks, by its units.
#include "train_part.hpp"
#include <tutti/nn/parallel/tensor_parallel_mlp.hpp>

reports train_tensor_parallel(job const& work) {
  std::vector<std::size_t> widths(work.options.depth, work.options.width);
  widths.insert(widths.begin(), work.data.training.features());
  widths.push_back(work.data.training.classes);
  return spawn_counted(work, [&]<class World>(World& world) {
    using model = tutti::nn::tensor_parallel_mlp<float, World, tutti::ring>;
    return train_part(world, work,
                      [&] { return std::make_unique<model>(world, tutti::ring{}, widths, work.options.batch); });
  });
}
