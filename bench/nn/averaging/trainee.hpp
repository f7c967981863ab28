// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/zoo/mlp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// Settings of a rank's training.
struct training {
  std::vector<std::size_t> hidden_sizes;  ///< sizes of the hidden layers
  std::size_t epochs = 1;
  std::size_t interval = 1;  ///< images between two averagings
  double rate = 0.1;
  std::uint64_t seed = 1;
};

/// A perceptron with sigmoids that learns from one image at a time, from every n-th.
template <class T>
class trainee {
 public:
  trainee(tutti::nn::dataset const& images, training const& options, std::size_t rank, std::size_t ranks)
      : images_(images),
        options_(options),
        model_(tutti::nn::mlp<T>(images.features(), options.hidden_sizes, images.classes,
                                 tutti::nn::hidden_activation::sigmoid)),
        order_(images.size() / ranks),
        random_(options.seed, 1000 + rank) {
    model_.initialise(options.seed);
    for (std::size_t i = 0; i != order_.size(); ++i) {
      order_[i] = i * ranks + rank;
    }
    remaining_ = options.epochs * order_.size();
  }

  [[nodiscard]] std::span<T> weights() noexcept { return model_.parameters(); }

  /// Learns from the next few images. False if none were left.
  bool train() {
    std::size_t const count = std::min(options_.interval, remaining_);
    for (std::size_t i = 0; i != count; ++i, --remaining_) {
      std::size_t const place = remaining_ % order_.size();
      if (place == 0) {
        random_.shuffle(std::span(order_));
      }
      learn(order_[place]);
    }
    return count != 0;
  }

  /// The share of these images that it classifies correctly.
  [[nodiscard]] double test(tutti::nn::dataset const& images) {
    T correct = 0;
    for (std::size_t i = 0; i != images.size(); ++i) {
      auto const values = model_.forward(numbers_of(images, i));
      correct += tutti::nn::softmax_cross_entropy::measure<T>(values, std::span(images.labels).subspan(i, 1)).correct;
    }
    return static_cast<double>(correct) / static_cast<double>(images.size());
  }

 private:
  void learn(std::size_t image) {
    auto const x = numbers_of(images_, image);
    auto const values = model_.forward(x, {.training = true});
    tutti::nn::softmax_cross_entropy::differentiate<T>(values, std::span(images_.labels).subspan(image, 1), T{1},
                                                       model_.derivatives());
    model_.backward(x);
    auto const gradients = model_.gradients();
    auto const rate = static_cast<T>(options_.rate);
    for (std::size_t i = 0; i != gradients.size(); ++i) {
      model_.parameters()[i] -= rate * gradients[i];
    }
  }

  [[nodiscard]] tutti::nn::matrix_view<T const> numbers_of(tutti::nn::dataset const& images, std::size_t i) {
    numbers_.resize(images.features());
    std::ranges::transform(images.image(i), numbers_.begin(), [](std::uint8_t p) { return static_cast<T>(p) / 255; });
    return tutti::nn::view<T const>(numbers_.data(), 1, numbers_.size());
  }

  tutti::nn::dataset const& images_;
  training const& options_;
  tutti::nn::model<T> model_;
  std::vector<std::size_t> order_;
  tutti::nn::random_sequence random_;
  std::size_t remaining_ = 0;
  std::vector<T> numbers_;
};

}  // namespace bench
