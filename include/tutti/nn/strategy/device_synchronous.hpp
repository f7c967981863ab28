// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/detail/device/wait.hpp>
#include <tutti/expects.hpp>
#include <tutti/nn/detail/strategy/equal_replicas.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/device_message.hpp>
#include <tutti/nn/strategy/concept.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

namespace tutti::nn {

/// Synchronous training of replicas on devices: as `synchronous`, but messages are added up where they are computed, by
/// kernels (`enqueue`), in a stream beside that of the computation. Buckets begin when what they hold has been
/// computed, while the gradients before them are; no message goes to the host.
///
/// All ranks' replicas are on devices of the world, with the same buckets. The host waits for the sums of each step,
/// and learns then of ranks that failed. Initial weights, and small sums, go the way of operations on host memory.
///
/// Replicas are trained by it itself: `any_strategy` knows host memory only.
template <class Communicator, offers<op::allreduce> Topology>
class device_synchronous : public detail::equal_replicas {
  using stream_type = typename Communicator::transport_type::stream_type;

 public:
  /// @param bucket most bytes of a bucket, the same on all ranks; 0: the whole message is one
  /// @pre the communicator outlives the strategy
  explicit device_synchronous(Communicator& world, Topology topology = {}, std::size_t bucket = 0)
      : all_(world, topology), sum_message_(world, topology, tutti::sum<float>{}), bucket_(bucket) {}

  [[nodiscard]] rank_type rank() const noexcept { return all_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return all_.size(); }
  void share(std::span<float> numbers) { all_.share(numbers); }
  void sum(std::span<float> numbers) { all_.sum(numbers); }

  /// Where the gradients will be, on the device.
  void begin(device_message<stream_type> const& message) {
    message_.emplace(message);
    waiting_ = message.numbers().size();
  }
  /// What has been put into the stream of the computation makes the numbers from `first` on final: sums them behind it.
  void enqueued(std::size_t first) {
    std::size_t const most =
        bucket_ == 0 ? message_->numbers().size() : std::max(bucket_ / sizeof(float), std::size_t{1});
    bool follows = false;
    for (std::size_t cut = waiting_ - std::min(waiting_, most); waiting_ != 0 && cut >= first;
         cut = waiting_ - std::min(waiting_, most)) {
      if (!follows) {
        message_->follow(stream_);
        follows = true;
      }
      sum_message_.enqueue(message_->numbers().subspan(cut, waiting_ - cut), stream_);
      waiting_ = cut;
    }
  }
  /// @throws error if a bucket's allreduce has failed; weights are then as they were
  score_of step(training_step auto& step) {
    message_->precede(stream_);
    tutti::detail::device::stream_wait(all_.world(), stream_).run();
    step.update();
    return score_of::all_ranks;
  }

  /// A message in host memory is refused.
  void begin(std::span<float>) const {
    expects(false,
            "device_synchronous: this rank's replica is not on a device of this world; give all ranks one that is, or "
            "use synchronous, which sums in host memory");
  }
  void completed(std::size_t) const noexcept {}

 private:
  detail::group_operations<Communicator, Topology> all_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_message_;
  std::size_t bucket_;
  stream_type stream_;
  std::optional<device_message<stream_type>> message_;
  std::size_t waiting_ = 0;  // numbers in front that are in no bucket yet
};

}  // namespace tutti::nn
