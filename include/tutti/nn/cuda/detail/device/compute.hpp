// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/cuda/base/device_message.hpp>
#include <tutti/nn/cuda/base/device_model.hpp>
#include <tutti/nn/cuda/detail/device/arrivals.hpp>
#include <tutti/nn/cuda/detail/device/blocks.hpp>
#include <tutti/nn/cuda/detail/device/loss_scale.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::device {

/// The state of a device learner: stages in device memory, and the host's layers from which they were made, which draw
/// the first weights.
template <device_math M>
class compute {
 public:
  static constexpr std::size_t attached = 2;

  compute(device_model what, nn::settings const& settings)
      : math_(what.device, what.numbers),
        layers_(std::move(what.layers)),
        parameters_(math_, layers_.parameters()),
        statistics_(math_, layers_.statistics()),
        message_(math_, (parameters_.size() + attached) * sizeof(float)),
        mirror_(math_, parameters_.size() + attached),
        velocity_(math_, has_velocity(settings) ? parameters_.size() : 0),
        step_{0, settings.momentum, settings.weight_decay, settings.optimizer == optimizer_kind::nesterov,
              settings.momentum_corrected},
        // Layers' norms are summed in the host's order, so that weights have equal bits on all ranks.
        host_optimizer_(make_optimizer(settings, settings.optimizer == optimizer_kind::lars
                                                     ? gradient_ranges<float>(std::as_const(layers_).layers())
                                                     : std::vector<parameter_range>{})),
        follows_on_host_(settings.optimizer == optimizer_kind::lars),
        overflow_(math_, scales() ? sizeof(std::uint32_t) : 0),
        raw_(math_, scales() ? parameters_.size() * sizeof(float) : 0),
        result_(math_, attached * sizeof(float)),
        score_(math_, attached),
        overflowed_(math_, 1),
        arrivals_(math_) {
    expects(!settings.reproducible,
            "replica on a device: reproducible sums are a host's; set settings::reproducible to false");
    expects(!scales() || !settings.synchronised_statistics,
            "replica on a device: statistics of all ranks do not go with fp16, whose ranks scale their losses each for "
            "itself; take float or bf16, or set synchronised_statistics to false");
    layers_.bind(parameters_.write(), mirror_.span().first(parameters_.size()), statistics_.write());
    std::ranges::fill(parameters_.write(), 0.0F);  // the initial weights of a simulated computation
    std::ranges::fill(statistics_.write(), 0.0F);
    std::ranges::fill(mirror_.span(), 0.0F);
    std::ranges::fill(velocity_.write(), 0.0F);
  }
  compute(compute const&) = delete;
  compute& operator=(compute const&) = delete;
  ~compute() {
    try {
      finish();
    } catch (...) {  // a device that has failed uses no memory
    }
  }

  [[nodiscard]] nn::detail::sequence<float> const& layers() const noexcept { return layers_; }
  [[nodiscard]] mirrored<M>& parameters() noexcept { return parameters_; }
  [[nodiscard]] mirrored<M>& statistics() noexcept { return statistics_; }
  [[nodiscard]] std::span<float> optimizer_state() {
    return follows_on_host_ ? host_optimizer_->state() : velocity_.write();
  }
  [[nodiscard]] std::span<float> gradient_buffer() {
    math_.finish(message_taken_);
    if (std::exchange(message_is_there_, false)) {
      fetch(mirror_, message_);
    }
    return mirror_.span();
  }
  [[nodiscard]] batch_metrics<float> attached_numbers() {
    if (message_is_there_) {
      download_now(math_, score_.bytes(), reinterpret_cast<std::byte const*>(behind()), attached * sizeof(float));
      return {score_.span()[0], score_.span()[1]};
    }
    auto const numbers = mirror_.span().last(attached);
    return {numbers[0], numbers[1]};
  }

  // Sums on the device.
  [[nodiscard]] device_message<typename M::stream_type> message_there() noexcept {
    return {{message_.floats(), parameters_.size() + attached}, arrivals_.stream(), *this};
  }
  void follow() {
    math_.record(computed_, math_.stream());
    math_.hold(arrivals_.stream(), computed_);
  }
  void precede() {
    math_.record(summed_, arrivals_.stream());
    math_.hold(math_.stream(), summed_);
  }
  void clear() {
    math_.clear(message_.data(), (parameters_.size() + attached) * sizeof(float));
    message_is_there_ = true;
  }

  void reserve(std::size_t rows) {
    if (rows > rows_) {
      finish();
      std::size_t const number = bytes_of(math_.numbers());
      std::size_t const inputs = rows * layers_.inputs();
      std::size_t const outputs = rows * layers_.outputs();
      images_.emplace(math_, inputs);
      labels_.emplace(math_, rows);
      floats_there_ = buffer<M>(math_, inputs * sizeof(float));
      labels_there_ = buffer<M>(math_, rows);
      x_ = buffer<M>(math_, inputs * number);
      y_ = buffer<M>(math_, outputs * number);
      dy_ = buffer<M>(math_, outputs * number);
      if (model_) {
        model_->reserve(rows);
      }
      rows_ = rows;
    }
  }
  void initialise(std::uint64_t seed) {
    finish();
    static_cast<void>(parameters_.write());
    static_cast<void>(statistics_.write());
    layers_.draw(seed);
    model_.emplace(math_, layers_.geometries());  // the layers know their dropout keys now
    model_->bind(parameters_.address(), scales() ? raw_.floats() : message_.floats(), statistics_.address());
    model_->reserve(rows_);
  }
  void expect_pieces() {
    if (pieces_.data() == nullptr) {
      pieces_ = buffer<M>(math_, (parameters_.size() + attached) * sizeof(float));
    }
  }
  void begin() {
    arrivals_.settle();  // parts may still be under way after a step that a fault has ended
    any_pieces_ = false;
  }

  void gradient(image_batch const& images, batch_context<float> how, float share, bool last,
                gradient_listener& listener) {
    std::size_t const rows = load(images, true);
    model_->forward(how, rows, x_.data(), y_.data());
    if (!last) {
      do {
        derive(how, rows, share);
      } while (overflows() && scale_.halve());
      keep();
      return;
    }
    if (listener.is_on_device()) {
      enqueue(how, rows, share, listener);
      return;
    }
    message_is_there_ = false;
    part_sender sender{*this, listener, static_cast<bool>(how.sum)};
    how.on_completion = completion<float>(sender);
    arrivals_.begin(message_.floats(), mirror_.span(), word());
    derive(how, rows, share);
    while (!arrivals_.tell_all(listener, false)) {
      if (!scale_.halve()) {
        arrivals_.tell_all(listener, true);
        return;
      }
      arrivals_.begin_again();
      sender.right = true;
      derive(how, rows, share);
    }
    scale_.good_step();
  }

  void update(float rate) {
    if (follows_on_host_) {
      host_optimizer_->step(parameters_.write(), gradient_buffer().first(parameters_.size()), rate);
      return;
    }
    if (!message_is_there_) {
      math_.upload(math_.stream(), message_.data(), mirror_.bytes(), parameters_.size() * sizeof(float));
      math_.record(message_taken_, math_.stream());
    }
    step_.rate = rate;
    math_.follow(parameters_.size(), step_, parameters_.change_on_device(), message_.floats(),
                 velocity_.size() == 0 ? nullptr : velocity_.change_on_device());
    stale_ = true;
  }

  [[nodiscard]] batch_metrics<float> test(image_batch const& images) {
    std::size_t const rows = load(images, false);
    model_->forward({}, rows, x_.data(), y_.data());
    math_.softmax_cross_entropy(rows, layers_.outputs(), y_.data(), labels(), 1.0F, 0.0F, nullptr, result_.floats());
    fetch(score_, result_);
    return {score_.span()[0], score_.span()[1]};
  }

 private:
  /// Sends parts of the gradient buffer as they become final, and reports parts that have arrived. If layers exchange
  /// sums with other ranks meanwhile, it waits for each part: all ranks then start these sums and the parts'
  /// operations in one order.
  struct part_sender {
    void on_completion(float const* gradient) {
      auto const first =
          static_cast<std::size_t>(gradient - (owner.scales() ? owner.raw_.floats() : owner.message_.floats()));
      if (in_order ? owner.arrivals_.is_new(first) : owner.arrivals_.is_part(first)) {
        owner.finalise(first, owner.arrivals_.cut());
        owner.arrivals_.send(first);
      }
      right = right && (in_order ? owner.arrivals_.tell_all(listener, false) : owner.arrivals_.tell_arrived(listener));
    }

    compute& owner;
    gradient_listener& listener;
    bool in_order;
    bool right = true;
  };

  /// Reports enqueued gradients, for sums on the device.
  struct part_teller {
    void on_completion(float const* gradient) {
      if (auto const first = static_cast<std::size_t>(gradient - owner.message_.floats()); first < end) {
        owner.finalise(first, std::exchange(end, first));
        listener.on_enqueue(first);
      }
    }

    compute& owner;
    gradient_listener& listener;
    std::size_t end;  // numbers from here on have been enqueued
  };

  /// Computes the last micro-batch, for sums on the device. With a loss scale, the host first waits to learn of an
  /// overflow.
  void enqueue(batch_context<float> how, std::size_t rows, float share, gradient_listener& listener) {
    message_is_there_ = true;
    std::size_t const numbers = parameters_.size() + attached;
    if (!scales()) {
      part_teller teller{*this, listener, numbers};
      how.on_completion = completion<float>(teller);
      derive(how, rows, share);
      return;
    }
    bool large = true;
    do {
      derive(how, rows, share);
      large = overflows();
    } while (large && scale_.halve());
    if (!large) {
      scale_.good_step();
    }
    add_pieces(0, numbers);
    listener.on_enqueue(0);
  }

  [[nodiscard]] static bool has_velocity(nn::settings const& settings) noexcept {
    return settings.optimizer != optimizer_kind::lars && (!settings.momentum_corrected || settings.weight_decay != 0);
  }
  [[nodiscard]] float* behind() const noexcept { return message_.floats() + parameters_.size(); }
  [[nodiscard]] bool scales() const noexcept { return math_.numbers() == precision::float16; }
  [[nodiscard]] std::uint32_t* word() const noexcept { return reinterpret_cast<std::uint32_t*>(overflow_.data()); }
  [[nodiscard]] std::uint8_t const* labels() const noexcept {
    return reinterpret_cast<std::uint8_t const*>(labels_there_.data());
  }

  /// Enqueues a batch, and the host's writes, in the math's stream.
  /// @returns the number of its rows
  std::size_t load(image_batch const& images, bool training) {
    std::size_t const rows = images.labels.size();
    reserve(rows);
    for (std::uint8_t const label : images.labels) {
      expects(label < layers_.outputs(), "replica on a device: labels must be below the number of classes, ",
              layers_.outputs(), ", not ", label);
    }
    math_.finish(loaded_);  // for the upload of the previous batch
    std::ranges::copy(images.numbers, images_->span().begin());
    std::ranges::copy(images.labels, labels_->span().begin());
    math_.upload(math_.stream(), floats_there_.data(), images_->bytes(), images.numbers.size_bytes());
    math_.upload(math_.stream(), labels_there_.data(), labels_->bytes(), rows);
    math_.record(loaded_, math_.stream());
    math_.narrow(images.numbers.size(), floats_there_.floats(), x_.data());
    stale_ = stale_ || parameters_.host_is_newer();
    static_cast<void>(parameters_.on_device());
    static_cast<void>(training ? statistics_.change_on_device() : statistics_.on_device());
    if (std::exchange(stale_, false)) {
      model_->refresh();
    }
    return rows;
  }

  /// Computes the derivatives of the last batch, scaled if necessary.
  void derive(batch_context<float> const& how, std::size_t rows, float share) {
    if (scales()) {
      math_.clear(overflow_.data(), sizeof(std::uint32_t));
    }
    math_.softmax_cross_entropy(rows, layers_.outputs(), y_.data(), labels(), share,
                                scales() ? share * scale_.value() : share, dy_.data(), behind());
    model_->backward(how, rows, x_.data(), y_.data(), dy_.data(), nullptr);
  }

  /// Removes the loss scale from a part of the gradients.
  void unscale(std::size_t first, std::size_t end) {
    end = (std::min)(end, parameters_.size());
    if (scales() && first < end) {
      math_.unscale(end - first, 1 / scale_.value(), raw_.floats() + first, message_.floats() + first, word());
    }
  }
  /// Makes final numbers of the last micro-batch final for the whole batch.
  void finalise(std::size_t first, std::size_t end) {
    unscale(first, end);
    add_pieces(first, end);
  }
  void add_pieces(std::size_t first, std::size_t end) {
    if (any_pieces_) {
      math_.accumulate(end - first, pieces_.floats() + first, message_.floats() + first);
    }
  }
  /// Keeps the gradient buffer of a micro-batch other than the last.
  void keep() {
    std::size_t const numbers = parameters_.size() + attached;
    if (std::exchange(any_pieces_, true)) {
      math_.accumulate(numbers, message_.floats(), pieces_.floats());
    } else {
      math_.copy(pieces_.data(), message_.data(), numbers * sizeof(float));
    }
  }
  /// Unscales the gradients of a micro-batch. Returns true if one overflowed; the gradient buffer is then invalid.
  [[nodiscard]] bool overflows() {
    unscale(0, parameters_.size());
    if (!scales()) {
      return false;
    }
    fetch(overflowed_, overflow_);
    return overflowed_.span()[0] != 0;
  }

  template <class T>
  void fetch(pinned<M, T> const& to, buffer<M> const& from) {
    download_now(math_, to.bytes(), from.data(), to.span().size_bytes());
  }
  void finish() {
    typename M::event_type done;
    math_.record(done, math_.stream());
    math_.finish(done);
    arrivals_.settle();
  }

  M math_;
  nn::detail::sequence<float> layers_;
  mirrored<M> parameters_;
  mirrored<M> statistics_;
  buffer<M> message_;
  pinned<M, float> mirror_;  // the host's copy of the gradient buffer, which strategies sum and updates read
  mirrored<M> velocity_;
  sgd_step step_;
  std::unique_ptr<nn::optimizer<float>> host_optimizer_;
  bool follows_on_host_;
  buffer<M> overflow_;  // nonzero if a derivative overflowed
  buffer<M> raw_;       // gradients times the loss scale
  buffer<M> result_;
  pinned<M, float> score_;
  pinned<M, std::uint32_t> overflowed_;
  std::optional<pinned<M, float>> images_;
  std::optional<pinned<M, std::uint8_t>> labels_;
  buffer<M> floats_there_;
  buffer<M> labels_there_;
  buffer<M> x_;
  buffer<M> y_;
  buffer<M> dy_;
  buffer<M> pieces_;  // sum over earlier micro-batches of the gradient buffer
  std::optional<sequence<M>> model_;
  arrivals<M> arrivals_;
  typename M::event_type loaded_;
  typename M::event_type message_taken_;
  loss_scale scale_;
  std::size_t rows_ = 0;
  typename M::event_type computed_;
  typename M::event_type summed_;
  bool any_pieces_ = false;
  bool message_is_there_ = false;  // only the device's gradient buffer is valid
  bool stale_ = true;              // parameters have changed since the last refresh of the stages
};

}  // namespace tutti::nn::detail::device
