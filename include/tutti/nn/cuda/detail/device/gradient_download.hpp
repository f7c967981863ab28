// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/cuda/detail/device/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <thread>

namespace tutti::inline v0_1_0::nn::detail::device {

/// Copies a gradient buffer to the host in parts, from its end on, while earlier gradients are computed. The copies
/// have a stream of their own, and each follows an event of the computation. A device word may accompany each part: if
/// it is nonzero when the part arrives, that part and all numbers before it are invalid.
template <device_math M>
class gradient_download {
 public:
  explicit gradient_download(M& math) : math_(math), copy_stream_(math.another_stream()), words_(math, most_parts) {}

  /// Begins a new gradient buffer, which is copied to the host at `destination`. @param word on the device, or null
  void begin(float const* buffer, std::span<float> destination, std::uint32_t const* word) {
    wait_for_copies();
    buffer_ = buffer;
    destination_ = destination;
    word_ = word;
    reported_begin_ = destination.size();
    next_end_ = destination.size();
  }
  /// Begins again with the numbers that have not been reported, which will be computed again.
  void restart() {
    wait_for_copies();
    next_end_ = reported_begin_;
  }

  /// The stream of the copies. May be used for other work between gradient buffers.
  [[nodiscard]] typename M::stream_type& stream() noexcept { return copy_stream_; }

  /// The end of the next part; numbers after it have been sent.
  [[nodiscard]] std::size_t next_end() const noexcept { return next_end_; }
  /// True if final numbers from `first` on have not been sent.
  [[nodiscard]] bool is_new(std::size_t first) const noexcept { return first < next_end_; }
  /// True if the numbers from `first` on are worth a copy.
  [[nodiscard]] bool is_part(std::size_t first) const noexcept {
    return is_new(first) && (first == 0 || next_end_ - first >= min_part_floats);
  }
  /// Sends the part from `first` to `next_end()`, after all earlier work in the math's stream.
  void send(std::size_t first) {
    std::size_t const index = reported_count_ + pending_count_;
    if (index == parts_.size()) {
      parts_.emplace_back();
    }
    part& next = parts_[index];
    next.first = first;
    math_.record(compute_event_, math_.stream());
    math_.hold(copy_stream_, compute_event_);
    math_.download(copy_stream_, reinterpret_cast<std::byte*>(destination_.data() + first),
                   reinterpret_cast<std::byte const*>(buffer_ + first), (next_end_ - first) * sizeof(float));
    if (word_ != nullptr) {
      math_.download(copy_stream_, reinterpret_cast<std::byte*>(&words_.span()[index % most_parts]),
                     reinterpret_cast<std::byte const*>(word_), sizeof(std::uint32_t));
    }
    math_.record(next.arrival, copy_stream_);
    ++pending_count_;
    next_end_ = first;
  }

  /// Reports parts that have arrived, without waiting.
  /// @returns false if a part is invalid
  bool report_arrived(gradient_listener& listener) {
    while (pending_count_ != 0 && math_.has_run(parts_[reported_count_].arrival)) {
      if (is_invalid()) {
        return false;
      }
      report(listener);
    }
    return true;
  }
  /// Waits for all parts and reports them. Meanwhile repeats the last report, if any, so that operations with other
  /// ranks advance.
  /// @param accept_invalid accept invalid parts
  /// @returns false if a part is invalid
  bool report_all(gradient_listener& listener, bool accept_invalid) {
    while (pending_count_ != 0) {
      while (!math_.has_run(parts_[reported_count_].arrival)) {
        if (reported_begin_ != destination_.size()) {
          listener.on_completion(reported_begin_);
        }
        std::this_thread::yield();
      }
      if (is_invalid() && !accept_invalid) {
        return false;
      }
      report(listener);
    }
    return true;
  }

  /// Waits until no copy is under way.
  void wait_for_copies() {
    math_.record(compute_event_, copy_stream_);
    math_.finish(compute_event_);
    reported_count_ = 0;
    pending_count_ = 0;
  }

 private:
  static constexpr std::size_t min_part_floats = std::size_t{64} << 10;  // floats; copies of shorter parts take as long
  static constexpr std::size_t most_parts = 4096;

  struct part {
    std::size_t first = 0;
    typename M::event_type arrival;
  };

  [[nodiscard]] bool is_invalid() const noexcept {
    return word_ != nullptr && words_.span()[reported_count_ % most_parts] != 0;
  }
  void report(gradient_listener& listener) {
    reported_begin_ = parts_[reported_count_].first;
    ++reported_count_;
    --pending_count_;
    listener.on_completion(reported_begin_);
  }

  M& math_;
  typename M::stream_type copy_stream_;
  typename M::event_type compute_event_;
  pinned_buffer<M, std::uint32_t> words_;  // the words of the parts
  std::deque<part> parts_;                 // kept for the next gradient buffer with their events
  float const* buffer_ = nullptr;
  std::span<float> destination_;
  std::uint32_t const* word_ = nullptr;
  std::size_t reported_count_ = 0;  // parts that have been reported
  std::size_t pending_count_ = 0;   // parts under way, which follow the ready ones
  std::size_t reported_begin_ = 0;  // numbers from here on are final on the host
  std::size_t next_end_ = 0;
};

}  // namespace tutti::nn::detail::device
