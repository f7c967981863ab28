// SPDX-License-Identifier: Apache-2.0
//
// A band of every image's rows on each rank, which talks to its neighbours alone.
#include "train_part.hpp"
#include <tutti/nn/parallel/spatial_cnn.hpp>

reports train_spatial(job const& work) {
  auto const& data = work.data.training;
  return spawn_counted(work, [&]<class World>(World& world) {
    using model = tutti::nn::spatial_cnn<float, World, tutti::ring>;
    constexpr std::array<std::size_t, 2> channels{32, 64};
    return train_part(world, work, [&] {
      return std::make_unique<model>(world, tutti::ring{}, data.shape, channels, data.classes, work.options.batch);
    });
  });
}
