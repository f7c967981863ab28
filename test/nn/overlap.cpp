// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/synchronous_laws.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Copies numbers when they are reported final, and records the reported positions.
template <class T>
class keeper : public nn::gradient_listener {
 public:
  explicit keeper(std::span<T> numbers) : numbers_(numbers), final_values_(numbers.size()), end_(numbers.size()) {}

  void on_completion(std::size_t first) override {
    for (; end_ > first; --end_) {
      final_values_[end_ - 1] = numbers_[end_ - 1];
    }
    positions_.insert(first);
  }
  void on_completion(T const* first) { on_completion(static_cast<std::size_t>(first - numbers_.data())); }

  /// True if all numbers were reported final, and none has changed since.
  [[nodiscard]] bool was_final() const { return end_ == 0 && std::ranges::equal(final_values_, numbers_); }
  [[nodiscard]] std::set<std::size_t> const& positions() const { return positions_; }

 private:
  std::span<T> numbers_;
  std::vector<T> final_values_;
  std::size_t end_;
  std::set<std::size_t> positions_;
};

}  // namespace

// The gradient buffer has 19447 numbers here, the layers have 18840, 425 and 180: buckets are smaller than a layer,
// span two, or are as large as the buffer or larger.
BOOST_AUTO_TEST_CASE(gradients_in_buckets_of_any_size_obey_the_laws_of_training) {
  for (tutti::rank_type const size : {1U, 2U, 3U}) {
    for (std::size_t const bucket : {400U, 2001U, 4U * 10'000, 4U * 19'447, 1U << 20}) {
      BOOST_TEST_CONTEXT(size << " ranks, buckets of " << bucket << " bytes") {
        laws::check_training<tutti::loopback, tutti::ring>(size, bucket);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_layer_is_told_of_once_its_gradients_are_final) {
  nn::set_threads(1);
  auto const normalised_network = [] {
    nn::layer_list<double> layers;
    layers.push_back(nn::weight_norm<double>(nn::dense<double, nn::tanh>(128, 5)));
    layers.push_back(nn::weight_norm<double>(nn::dense<double>(5, 4)));
    return layers;
  };
  for (auto& layers :
       {nn::cnn<double>({2, 8, 8}, 4), nn::small_resnet<double>(8, {2, 8, 8}, 4), normalised_network()}) {
    nn::model<double> model(layers, 3);
    model.initialise(1);
    auto x = nn::matrix<double>::from_shape({3, 128});
    nn::random_sequence random(1);
    std::generate(x.begin(), x.end(), [&] { return random.fraction<double>(); });
    auto const input = nn::read_only<double>(nn::first_rows(x, 3));
    for (int step = 0; step != 2; ++step) {
      auto const y = model.forward(input, {.training = true});
      std::copy_n(y.data(), y.size(), model.derivatives().data());
      std::ranges::fill(model.gradients(), -1e30);
      keeper listener(model.gradient_buffer());
      model.backward(input, nn::completion<double>(listener));
      BOOST_TEST(listener.was_final());
      for (auto const& layer : model.ranges()) {
        BOOST_TEST(listener.positions().contains(layer.offset), "the layer at " << layer.offset);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_in_pieces_is_final_when_its_last_piece_is) {
  auto const& data = laws::training_data();
  for (tutti::rank_type const size : {1U, 3U, 50U}) {  // most of 50 ranks get none of the last 11 images
    for (std::size_t const piece : {0U, 1U, 5U}) {
      auto settings = laws::training_settings();
      settings.micro_batch = piece;
      nn::replica model(nn::model<float>(nn::mlp<float>(784, laws::hidden_sizes, 10, nn::hidden_activation::relu),
                                         nn::replica::extra_scalars),
                        data.training, data.test, settings, size - 1, size);
      model.start(0);
      for (std::size_t b = 0; b != model.batches(); ++b) {
        keeper listener(model.gradient_buffer());
        model.gradient(b, listener);
        BOOST_TEST(listener.was_final(), size << " ranks, pieces of " << piece << ", batch " << b);
        std::vector<float> const message(model.gradient_buffer().begin(), model.gradient_buffer().end());
        model.gradient(b);
        BOOST_TEST(std::ranges::equal(message, model.gradient_buffer()));
      }
    }
  }
}
