// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/cuda/any_device_sums.hpp>
#include <tutti/nn/cuda/base/device_gradient_buffer.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Synchronous training of replicas on devices. Like `synchronous`, but gradients are summed on the devices by kernels
/// (`enqueue`), in a stream beside that of the computation. A bucket's allreduce begins when its gradients have been
/// computed, while earlier layers' gradients still are; no gradient passes through the host.
///
/// All ranks' replicas are on devices of the world, with equal buckets. The host waits for the sums of each step, and
/// then learns of failed ranks. Initial weights, and small sums, use operations on host memory.
///
///     // in a .cu file, of a world over cuda::peers; nvcc cannot read the trainer
///     tutti::nn::device_sums sums(world, tutti::ring{});
///     train_with(sums);
///     // in a .cpp file
///     void train_with(tutti::nn::any_device_sums<tutti::cuda::stream>& sums) {
///       tutti::nn::device_synchronous strategy(sums, bucket);
///       tutti::nn::train(replica, strategy);
///     }
template <class Stream>
class device_synchronous : public strategy {
 public:
  /// @param bucket most bytes of a bucket, equal on all ranks; 0: one bucket holds the whole gradient buffer
  /// @pre the sums outlive the strategy
  explicit device_synchronous(any_device_sums<Stream>& sums, std::size_t bucket = 0) : sums_(sums), bucket_(bucket) {}

  /// The rank of this process.
  [[nodiscard]] rank_type rank() const override { return sums_.rank(); }
  [[nodiscard]] rank_type size() const override { return sums_.size(); }
  void broadcast(std::span<float> numbers) override { sums_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { sums_.sum(numbers); }

  /// @returns false if the gradient buffer is in another kind of device memory
  [[nodiscard]] bool begin_on_device(any_device_gradient_buffer const& buffer) override {
    auto const* const typed_buffer = buffer.template get_if<device_gradient_buffer<Stream>>();
    if (typed_buffer == nullptr) {
      return false;
    }
    buffer_.emplace(*typed_buffer);
    pending_count_ = typed_buffer->numbers().size();
    return true;
  }
  [[nodiscard]] bool is_on_device() const noexcept override { return true; }
  /// Sums the numbers from `first` on, after the earlier work in the computation's stream, which makes them final.
  void on_enqueue(std::size_t first) override {
    std::size_t const bucket_size =
        bucket_ == 0 ? buffer_->numbers().size() : (std::max)(bucket_ / sizeof(float), std::size_t{1});
    bool has_followed = false;
    for (std::size_t begin = pending_count_ - (std::min)(pending_count_, bucket_size);
         pending_count_ != 0 && begin >= first; begin = pending_count_ - (std::min)(pending_count_, bucket_size)) {
      if (!has_followed) {
        buffer_->follow();
        has_followed = true;
      }
      sums_.enqueue(buffer_->numbers().subspan(begin, pending_count_ - begin), buffer_->stream());
      pending_count_ = begin;
    }
  }
  /// @throws error if a bucket's allreduce has failed; the weights are then unchanged
  metrics_scope step(training_step& step) override {
    buffer_->precede();
    sums_.wait(buffer_->stream());
    step.update();
    return metrics_scope::all_ranks;
  }

  /// Refuses a gradient buffer in host memory.
  void begin(std::span<float> /*buffer*/) override {
    expects(false,
            "device_synchronous: this rank's replica is not on a device of this world; make all replicas on one, or "
            "use synchronous");
  }

 private:
  any_device_sums<Stream>& sums_;
  std::size_t bucket_;
  std::optional<device_gradient_buffer<Stream>> buffer_;
  std::size_t pending_count_ = 0;  // numbers at the front that are in no bucket yet
};

}  // namespace tutti::nn
