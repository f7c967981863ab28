// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/detail/accumulator.hpp>
#include <tutti/nn/detail/learner.hpp>
#include <tutti/nn/gradient_listener.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/any_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// A learner on the host: a model, and what follows its gradients.
class host_learner {
 public:
  using made_of = model<float>;

  /// @pre the model was made with two attached numbers, loss and number of correct answers
  host_learner(model<float> m, settings const& settings);
  host_learner(host_learner&&) noexcept = default;
  host_learner& operator=(host_learner&&) = delete;

  [[nodiscard]] std::size_t inputs() const { return model_.inputs(); }
  [[nodiscard]] std::size_t outputs() const { return model_.outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const { return model_.ranges(); }
  [[nodiscard]] std::vector<double> products() const { return model_.products(); }
  [[nodiscard]] std::span<float> parameters() noexcept { return model_.parameters(); }
  [[nodiscard]] std::span<float const> parameters() const noexcept { return model_.parameters(); }
  [[nodiscard]] std::span<float> message() noexcept { return model_.message(); }
  [[nodiscard]] score<float> attached() noexcept { return {model_.attached()[0], model_.attached()[1]}; }
  [[nodiscard]] std::span<float> statistics() noexcept { return model_.statistics(); }
  [[nodiscard]] std::span<float> optimizer_state() { return optimizer_.state(); }
  [[nodiscard]] std::span<binned const> sums() const noexcept { return sums_; }

  void reserve(std::size_t rows) { model_.reserve(rows); }
  void initialise(std::uint64_t seed) { model_.initialise(seed); }
  void expect_pieces();

  void begin() noexcept;

  void gradient(batch_loader::batch const& images, pass<float> const& how, float scale, bool last,
                gradient_listener& listener) {
    auto const x = rows_of(images);
    auto const predictions = model_.forward(x, how);
    auto const sum =
        softmax_cross_entropy::differentiate<float>(predictions, images.labels, scale, model_.derivatives());
    model_.attached()[0] = sum.loss * scale;
    model_.attached()[1] = sum.correct * scale;
    if (last) {
      last_piece end{*this, model_.message(), model_.message().size(), listener};
      model_.backward(x, completion<float>(end));
    } else {
      model_.backward(x);
      keep();
    }
  }

  void nothing(gradient_listener& listener) {
    std::ranges::fill(model_.message(), 0.0F);
    listener.completed(std::size_t{0});
  }

  void multiply(float factor) noexcept;
  void update(float rate) { optimizer_.step(model_.parameters(), model_.gradients(), rate); }
  [[nodiscard]] score<float> test(batch_loader::batch const& images);

 private:
  /// Makes what is final of the last piece's message final of the batch's, and passes it on.
  struct last_piece {
    void completed(float const* gradient) {
      auto const first = static_cast<std::size_t>(gradient - message.data());
      owner.complete(message.subspan(first, end - first), first);
      end = first;
      listener.completed(first);
    }

    host_learner& owner;
    std::span<float> message;
    std::size_t end;  // final from here on
    gradient_listener& listener;
  };

  /// Keeps the message of a piece that is not the last.
  void keep();
  /// Adds what was kept to the last piece's message, in a part of it that begins with its number `first`; or that part
  /// to what was kept.
  void complete(std::span<float> part, std::size_t first);

  [[nodiscard]] matrix_view<float const> rows_of(batch_loader::batch const& images) const {
    return view<float const>(images.numbers.data(), images.labels.size(), model_.inputs());
  }

  model<float> model_;
  any_optimizer optimizer_;
  bool reproducible_;
  accumulator pieces_{0};
  std::vector<binned> sums_;
};

}  // namespace tutti::nn::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/host_learner.ipp>
#endif
