// SPDX-License-Identifier: Apache-2.0
//
// The whole model on each rank, and a part of the batch: the baseline for models in parts.
#include "train_part.hpp"
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/stack.hpp>

namespace nn = tutti::nn;

namespace {

template <class World>
class whole_model {
 public:
  using value_type = float;

  whole_model(World& world, nn::layer_list<float> const& layers, std::size_t batch)
      : model_(layers),
        add_up_(world, tutti::ring{}, tutti::sum<float>{}),
        batch_(batch),
        samples_{world.rank() * (batch / world.size()), batch / world.size()} {
    tutti::expects(batch % world.size() == 0, "--how data: --batch must be a multiple of the ", world.size(),
                   " ranks, not ", batch);
    model_.reserve(samples_.count);
  }

  [[nodiscard]] nn::batch_part images() const { return {samples_, {0, model_.inputs()}}; }
  [[nodiscard]] nn::range scored_samples() const { return samples_; }
  [[nodiscard]] std::span<float> parameters() { return model_.parameters(); }
  [[nodiscard]] std::span<float> gradients() { return model_.gradients(); }
  void initialise(std::uint64_t seed) { model_.initialise(seed); }

  nn::batch_metrics<float> gradient(nn::matrix_view<float const> const& images, std::span<std::uint8_t const> labels) {
    auto const values = model_.forward(images, {.training = true});
    auto const result = nn::softmax_cross_entropy::differentiate<float>(values, labels, 1 / static_cast<float>(batch_),
                                                                        model_.derivatives());
    model_.backward(images);
    add_up_(model_.gradients());
    return result;
  }

  nn::batch_metrics<float> test(nn::matrix_view<float const> const& images, std::span<std::uint8_t const> labels) {
    return nn::softmax_cross_entropy::measure<float>(model_.forward(images), labels);
  }

 private:
  nn::model<float> model_;
  tutti::allreduce<World, tutti::ring, tutti::sum<float>> add_up_;
  std::size_t batch_;
  nn::range samples_;
};

/// The dense layers that tensor and pipeline cut, or the convolutions that spatial cuts.
nn::layer_list<float> make_layers(job const& work) {
  auto const& data = work.data.training;
  if (work.options.model == "dense") {
    std::vector<std::size_t> const hidden_sizes(work.options.depth, work.options.width);
    return nn::mlp<float>(data.features(), hidden_sizes, data.classes, nn::hidden_activation::relu);
  }
  nn::stack<float> s(data.shape);
  for (std::size_t const channels : {std::size_t{32}, std::size_t{64}}) {
    s.add<nn::conv2d<float, nn::relu>>(nn::convolution{channels, {3, 1, 1}}).add<nn::max_pool<float>>(nn::window{2, 2});
  }
  return s.add_dense<nn::identity>(data.classes).take();
}

}  // namespace

reports train_data_parallel(job const& work) {
  auto const layers = make_layers(work);
  return spawn_counted(work, [&]<class World>(World& world) {
    return train_part(world, work,
                      [&] { return std::make_unique<whole_model<World>>(world, layers, work.options.batch); });
  });
}
