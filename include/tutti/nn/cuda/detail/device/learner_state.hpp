// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/cuda/base/device_gradient_buffer.hpp>
#include <tutti/nn/cuda/base/device_model.hpp>
#include <tutti/nn/cuda/detail/device/blocks.hpp>
#include <tutti/nn/cuda/detail/device/gradient_download.hpp>
#include <tutti/nn/cuda/detail/device/loss_scale.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
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
class learner_state {
 public:
  static constexpr std::size_t metric_count = 2;

  learner_state(device_model model, nn::settings const& settings)
      : math_(model.device, model.numbers),
        layers_(std::move(model.layers)),
        parameters_(math_, layers_.parameters()),
        statistics_(math_, layers_.statistics()),
        message_(math_, (parameters_.size() + metric_count) * sizeof(float)),
        mirror_(math_, parameters_.size() + metric_count),
        velocity_(math_, has_velocity(settings) ? parameters_.size() : 0),
        step_{0, settings.momentum, 0, settings.optimizer == optimizer_kind::nesterov, settings.momentum_corrected},
        runs_(decay_runs<float>(decaying_ranges(ranges(), settings.decays_all), settings.weight_decay)),
        label_smoothing_(settings.label_smoothing),
        clip_norm_(settings.clip_norm),
        follows_on_host_(!has_kernel(settings)),
        host_optimizer_(make_optimizer(settings, follows_on_host_ ? ranges() : std::vector<parameter_range>{})),
        overflow_(math_, scales_loss() ? sizeof(std::uint32_t) : 0),
        scaled_gradients_(math_, scales_loss() ? parameters_.size() * sizeof(float) : 0),
        result_(math_, metric_count * sizeof(float)),
        score_(math_, metric_count),
        overflow_copy_(math_, 1),
        download_(math_) {
    expects(!settings.reproducible, "replica on a device: settings::reproducible needs the host; set it to false");
    expects(!scales_loss() || !settings.synchronised_statistics,
            "replica on a device: synchronised_statistics cannot be used with fp16, as each rank scales its own loss; "
            "take float or bf16, or set it to false");
    layers_.bind(parameters_.write(), mirror_.span().first(parameters_.size()), statistics_.write());
    std::ranges::fill(parameters_.write(), 0.0F);  // the initial weights of a simulated computation
    std::ranges::fill(statistics_.write(), 0.0F);
    std::ranges::fill(mirror_.span(), 0.0F);
    std::ranges::fill(velocity_.write(), 0.0F);
  }
  learner_state(learner_state const&) = delete;
  learner_state& operator=(learner_state const&) = delete;
  ~learner_state() {
    try {
      finish();
    } catch (...) {  // a device that has failed uses no memory
    }
  }

  [[nodiscard]] nn::detail::sequence<float> const& layers() const noexcept { return layers_; }
  [[nodiscard]] mirrored_array<M>& parameters() noexcept { return parameters_; }
  [[nodiscard]] mirrored_array<M>& statistics() noexcept { return statistics_; }
  [[nodiscard]] std::span<float> optimizer_state() {
    return follows_on_host_ ? host_optimizer_->state() : velocity_.write();
  }
  [[nodiscard]] std::span<float> gradient_buffer() {
    math_.finish(message_upload_);
    if (std::exchange(buffer_is_on_device_, false)) {
      fetch(mirror_, message_);
    }
    return mirror_.span();
  }
  [[nodiscard]] batch_metrics<float> metrics() {
    if (buffer_is_on_device_) {
      download_now(math_, score_.bytes(), reinterpret_cast<std::byte const*>(metrics_address()),
                   metric_count * sizeof(float));
      return {score_.span()[0], score_.span()[1]};
    }
    auto const numbers = mirror_.span().last(metric_count);
    return {numbers[0], numbers[1]};
  }

  // Sums on the device.
  [[nodiscard]] device_gradient_buffer<typename M::stream_type> message_on_device() noexcept {
    return {{message_.floats(), parameters_.size() + metric_count}, download_.stream(), *this};
  }
  void follow() {
    math_.record(compute_event_, math_.stream());
    math_.hold(download_.stream(), compute_event_);
  }
  void precede() {
    math_.record(sum_event_, download_.stream());
    math_.hold(math_.stream(), sum_event_);
  }
  void clear() {
    math_.clear(message_.data(), (parameters_.size() + metric_count) * sizeof(float));
    buffer_is_on_device_ = true;
  }

  void reserve(std::size_t rows) {
    if (rows > rows_) {
      finish();
      std::size_t const number_bytes = bytes_of(math_.numbers());
      std::size_t const inputs = rows * layers_.inputs();
      std::size_t const outputs = rows * layers_.outputs();
      images_.emplace(math_, inputs);
      labels_.emplace(math_, rows);
      device_floats_ = buffer<M>(math_, inputs * sizeof(float));
      device_labels_ = buffer<M>(math_, rows);
      x_ = buffer<M>(math_, inputs * number_bytes);
      y_ = buffer<M>(math_, outputs * number_bytes);
      dy_ = buffer<M>(math_, outputs * number_bytes);
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
    model_->bind(parameters_.address(), scales_loss() ? scaled_gradients_.floats() : message_.floats(),
                 statistics_.address());
    model_->reserve(rows_);
  }
  void expect_pieces() {
    if (pieces_.data() == nullptr) {
      pieces_ = buffer<M>(math_, (parameters_.size() + metric_count) * sizeof(float));
    }
  }
  void begin() {
    download_.wait_for_copies();  // parts may still be under way after a step that a fault has ended
    has_pieces_ = false;
  }

  void gradient(image_batch const& images, batch_context<float> context, float share, bool last,
                gradient_listener& listener) {
    std::size_t const rows = load(images, true);
    model_->forward(context, rows, x_.data(), y_.data());
    if (!last) {
      do {
        derive(context, rows, share);
      } while (overflows() && scale_.halve());
      save_piece();
      return;
    }
    if (listener.is_on_device()) {
      enqueue(context, rows, share, listener);
      return;
    }
    buffer_is_on_device_ = false;
    part_sender sender{*this, listener, static_cast<bool>(context.sum)};
    context.on_completion = completion<float>(sender);
    download_.begin(message_.floats(), mirror_.span(), overflow_word());
    derive(context, rows, share);
    while (!download_.report_all(listener, false)) {
      if (!scale_.halve()) {
        download_.report_all(listener, true);
        return;
      }
      download_.restart();
      sender.is_valid = true;
      derive(context, rows, share);
    }
    scale_.count_good_step();
  }

  void update(float rate) {
    if (follows_on_host_) {
      auto const gradients = gradient_buffer().first(parameters_.size());
      if (clip_norm_ != 0) {
        clip_to_norm(gradients, double{clip_norm_});
      }
      host_optimizer_->step(parameters_.write(), gradients, rate);
      return;
    }
    if (!buffer_is_on_device_) {
      math_.upload(math_.stream(), message_.data(), mirror_.bytes(), parameters_.size() * sizeof(float));
      math_.record(message_upload_, math_.stream());
    }
    step_.rate = rate;
    float* const weights = parameters_.change_on_device();
    float* const velocity = velocity_.size() == 0 ? nullptr : velocity_.change_on_device();
    for (auto const& [first, size, decay] : runs_) {
      step_.decay = decay;
      bool const has_velocity = velocity != nullptr && (!step_.is_corrected || decay != 0);
      math_.follow(size, step_, weights + first, message_.floats() + first, has_velocity ? velocity + first : nullptr);
    }
    is_stale_ = true;
  }

  [[nodiscard]] batch_metrics<float> test(image_batch const& images) {
    std::size_t const rows = load(images, false);
    model_->forward({}, rows, x_.data(), y_.data());
    math_.softmax_cross_entropy(rows, layers_.outputs(), y_.data(), labels(), {.share = 1}, nullptr, result_.floats());
    fetch(score_, result_);
    return {score_.span()[0], score_.span()[1]};
  }

 private:
  /// Sends parts of the gradient buffer as they become final, and reports parts that have arrived. If layers exchange
  /// sums with other ranks meanwhile, it waits for each part: all ranks then start these sums and the parts'
  /// operations in one order.
  struct part_sender {
    void on_completion(float const* gradient) {
      auto const first = static_cast<std::size_t>(
          gradient - (owner.scales_loss() ? owner.scaled_gradients_.floats() : owner.message_.floats()));
      if (is_ordered ? owner.download_.is_new(first) : owner.download_.is_part(first)) {
        owner.finalise(first, owner.download_.next_end());
        owner.download_.send(first);
      }
      is_valid = is_valid &&
                 (is_ordered ? owner.download_.report_all(listener, false) : owner.download_.report_arrived(listener));
    }

    learner_state& owner;
    gradient_listener& listener;
    bool is_ordered;
    bool is_valid = true;
  };

  /// Reports enqueued gradients, for sums on the device.
  struct part_reporter {
    void on_completion(float const* gradient) {
      if (auto const first = static_cast<std::size_t>(gradient - owner.message_.floats()); first < end) {
        owner.finalise(first, std::exchange(end, first));
        listener.on_enqueue(first);
      }
    }

    learner_state& owner;
    gradient_listener& listener;
    std::size_t end;  // numbers from here on have been enqueued
  };

  /// Computes the last micro-batch, for sums on the device. With a loss scale, the host first waits to learn of an
  /// overflow.
  void enqueue(batch_context<float> context, std::size_t rows, float share, gradient_listener& listener) {
    buffer_is_on_device_ = true;
    std::size_t const numbers = parameters_.size() + metric_count;
    if (!scales_loss()) {
      part_reporter reporter{*this, listener, numbers};
      context.on_completion = completion<float>(reporter);
      derive(context, rows, share);
      return;
    }
    bool has_overflow = true;
    do {
      derive(context, rows, share);
      has_overflow = overflows();
    } while (has_overflow && scale_.halve());
    if (!has_overflow) {
      scale_.count_good_step();
    }
    add_pieces(0, numbers);
    listener.on_enqueue(0);
  }

  /// True if updates run on the device. Norms are summed in the host's order, so that weights have equal bits on all
  /// ranks. The host's `make_optimizer` refuses kinds that do not exist.
  [[nodiscard]] static bool has_kernel(nn::settings const& settings) noexcept {
    switch (settings.optimizer) {
      case optimizer_kind::sgd:
      case optimizer_kind::nesterov:
        return settings.clip_norm == 0;
      case optimizer_kind::lars:
      case optimizer_kind::adam:
      case optimizer_kind::adamw:
        return false;
    }
    return false;
  }
  [[nodiscard]] static bool has_velocity(nn::settings const& settings) noexcept {
    return has_kernel(settings) && (!settings.momentum_corrected || settings.weight_decay != 0);
  }
  /// The ranges of the layers' parameters.
  [[nodiscard]] std::vector<parameter_range> ranges() const {
    return gradient_ranges<float>(std::as_const(layers_).layers());
  }
  [[nodiscard]] float* metrics_address() const noexcept { return message_.floats() + parameters_.size(); }
  [[nodiscard]] bool scales_loss() const noexcept { return math_.numbers() == precision::float16; }
  [[nodiscard]] std::uint32_t* overflow_word() const noexcept {
    return reinterpret_cast<std::uint32_t*>(overflow_.data());
  }
  [[nodiscard]] std::uint8_t const* labels() const noexcept {
    return reinterpret_cast<std::uint8_t const*>(device_labels_.data());
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
    math_.finish(batch_upload_);  // for the upload of the previous batch
    std::ranges::copy(images.numbers, images_->span().begin());
    std::ranges::copy(images.labels, labels_->span().begin());
    math_.upload(math_.stream(), device_floats_.data(), images_->bytes(), images.numbers.size_bytes());
    math_.upload(math_.stream(), device_labels_.data(), labels_->bytes(), rows);
    math_.record(batch_upload_, math_.stream());
    math_.narrow(images.numbers.size(), device_floats_.floats(), x_.data());
    is_stale_ = is_stale_ || parameters_.host_is_newer();
    static_cast<void>(parameters_.on_device());
    static_cast<void>(training ? statistics_.change_on_device() : statistics_.on_device());
    if (std::exchange(is_stale_, false)) {
      model_->refresh();
    }
    return rows;
  }

  /// Computes the derivatives of the last batch, scaled if necessary.
  void derive(batch_context<float> const& context, std::size_t rows, float share) {
    if (scales_loss()) {
      math_.clear(overflow_.data(), sizeof(std::uint32_t));
    }
    math_.softmax_cross_entropy(rows, layers_.outputs(), y_.data(), labels(),
                                {share, scales_loss() ? share * scale_.value() : share, label_smoothing_}, dy_.data(),
                                metrics_address());
    model_->backward(context, rows, x_.data(), y_.data(), dy_.data(), nullptr);
  }

  /// Removes the loss scale from a part of the gradients.
  void unscale(std::size_t first, std::size_t end) {
    end = (std::min)(end, parameters_.size());
    if (scales_loss() && first < end) {
      math_.unscale(end - first, 1 / scale_.value(), scaled_gradients_.floats() + first, message_.floats() + first,
                    overflow_word());
    }
  }
  /// Makes final numbers of the last micro-batch final for the whole batch.
  void finalise(std::size_t first, std::size_t end) {
    unscale(first, end);
    add_pieces(first, end);
  }
  void add_pieces(std::size_t first, std::size_t end) {
    if (has_pieces_) {
      math_.accumulate(end - first, pieces_.floats() + first, message_.floats() + first);
    }
  }
  /// Keeps the gradient buffer of a micro-batch other than the last.
  void save_piece() {
    std::size_t const numbers = parameters_.size() + metric_count;
    if (std::exchange(has_pieces_, true)) {
      math_.accumulate(numbers, message_.floats(), pieces_.floats());
    } else {
      math_.copy(pieces_.data(), message_.data(), numbers * sizeof(float));
    }
  }
  /// Unscales the gradients of a micro-batch. Returns true if one overflowed; the gradient buffer is then invalid.
  [[nodiscard]] bool overflows() {
    unscale(0, parameters_.size());
    if (!scales_loss()) {
      return false;
    }
    fetch(overflow_copy_, overflow_);
    return overflow_copy_.span()[0] != 0;
  }

  template <class T>
  void fetch(pinned_buffer<M, T> const& destination, buffer<M> const& source) {
    download_now(math_, destination.bytes(), source.data(), destination.span().size_bytes());
  }
  void finish() {
    typename M::event_type event;
    math_.record(event, math_.stream());
    math_.finish(event);
    download_.wait_for_copies();
  }

  M math_;
  nn::detail::sequence<float> layers_;
  mirrored_array<M> parameters_;
  mirrored_array<M> statistics_;
  buffer<M> message_;
  pinned_buffer<M, float> mirror_;  // the host's copy of the gradient buffer, which strategies sum and updates read
  mirrored_array<M> velocity_;
  sgd_step step_;
  std::vector<decay_run<float>> runs_;
  float label_smoothing_;
  float clip_norm_;
  bool follows_on_host_;
  std::unique_ptr<nn::optimizer<float>> host_optimizer_;
  buffer<M> overflow_;          // nonzero if a derivative overflowed
  buffer<M> scaled_gradients_;  // gradients times the loss scale
  buffer<M> result_;
  pinned_buffer<M, float> score_;
  pinned_buffer<M, std::uint32_t> overflow_copy_;
  std::optional<pinned_buffer<M, float>> images_;
  std::optional<pinned_buffer<M, std::uint8_t>> labels_;
  buffer<M> device_floats_;
  buffer<M> device_labels_;
  buffer<M> x_;
  buffer<M> y_;
  buffer<M> dy_;
  buffer<M> pieces_;  // sum over earlier micro-batches of the gradient buffer
  std::optional<sequence<M>> model_;
  gradient_download<M> download_;
  typename M::event_type batch_upload_;
  typename M::event_type message_upload_;
  loss_scale scale_;
  std::size_t rows_ = 0;
  typename M::event_type compute_event_;
  typename M::event_type sum_event_;
  bool has_pieces_ = false;
  bool buffer_is_on_device_ = false;  // only the device's gradient buffer is valid
  bool is_stale_ = true;              // parameters have changed since the last refresh of the stages
};

}  // namespace tutti::nn::detail::device
