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
class arrivals {
 public:
  explicit arrivals(M& math) : math_(math), copies_(math.another_stream()), words_(math, most_parts) {}

  /// Begins a new gradient buffer, which is copied to the host at `to`. @param word on the device, or null
  void begin(float const* message, std::span<float> to, std::uint32_t const* word) {
    settle();
    message_ = message;
    to_ = to;
    word_ = word;
    told_ = to.size();
    cut_ = to.size();
  }
  /// Begins again with the numbers that have not been reported, which will be computed again.
  void begin_again() {
    settle();
    cut_ = told_;
  }

  /// The stream of the copies. May be used for other work between gradient buffers.
  [[nodiscard]] typename M::stream_type& stream() noexcept { return copies_; }

  /// The end of the next part; numbers after it have been sent.
  [[nodiscard]] std::size_t cut() const noexcept { return cut_; }
  /// True if final numbers from `first` on have not been sent.
  [[nodiscard]] bool is_new(std::size_t first) const noexcept { return first < cut_; }
  /// True if the numbers from `first` on are worth a copy.
  [[nodiscard]] bool is_part(std::size_t first) const noexcept {
    return is_new(first) && (first == 0 || cut_ - first >= least);
  }
  /// Sends the part from `first` to `cut()`, after all earlier work in the math's stream.
  void send(std::size_t first) {
    std::size_t const at = ready_ + waiting_;
    if (at == parts_.size()) {
      parts_.emplace_back();
    }
    part& next = parts_[at];
    next.first = first;
    math_.record(computed_, math_.stream());
    math_.hold(copies_, computed_);
    math_.download(copies_, reinterpret_cast<std::byte*>(to_.data() + first),
                   reinterpret_cast<std::byte const*>(message_ + first), (cut_ - first) * sizeof(float));
    if (word_ != nullptr) {
      math_.download(copies_, reinterpret_cast<std::byte*>(&words_.span()[at % most_parts]),
                     reinterpret_cast<std::byte const*>(word_), sizeof(std::uint32_t));
    }
    math_.record(next.arrived, copies_);
    ++waiting_;
    cut_ = first;
  }

  /// Reports parts that have arrived, without waiting.
  /// @returns false if a part is invalid
  bool tell_arrived(gradient_listener& listener) {
    while (waiting_ != 0 && math_.has_run(parts_[ready_].arrived)) {
      if (is_wrong()) {
        return false;
      }
      tell(listener);
    }
    return true;
  }
  /// Waits for all parts and reports them. Meanwhile repeats the last report, if any, so that operations with other
  /// ranks advance.
  /// @param take_all accept invalid parts
  /// @returns false if a part is invalid
  bool tell_all(gradient_listener& listener, bool take_all) {
    while (waiting_ != 0) {
      while (!math_.has_run(parts_[ready_].arrived)) {
        if (told_ != to_.size()) {
          listener.on_completion(told_);
        }
        std::this_thread::yield();
      }
      if (is_wrong() && !take_all) {
        return false;
      }
      tell(listener);
    }
    return true;
  }

  /// Waits until no copy is under way.
  void settle() {
    math_.record(computed_, copies_);
    math_.finish(computed_);
    ready_ = 0;
    waiting_ = 0;
  }

 private:
  static constexpr std::size_t least = std::size_t{64} << 10;  // floats; copies of shorter parts take as long
  static constexpr std::size_t most_parts = 4096;

  struct part {
    std::size_t first = 0;
    typename M::event_type arrived;
  };

  [[nodiscard]] bool is_wrong() const noexcept { return word_ != nullptr && words_.span()[ready_ % most_parts] != 0; }
  void tell(gradient_listener& listener) {
    told_ = parts_[ready_].first;
    ++ready_;
    --waiting_;
    listener.on_completion(told_);
  }

  M& math_;
  typename M::stream_type copies_;
  typename M::event_type computed_;
  pinned<M, std::uint32_t> words_;  // the words of the parts
  std::deque<part> parts_;          // kept for the next gradient buffer with their events
  float const* message_ = nullptr;
  std::span<float> to_;
  std::uint32_t const* word_ = nullptr;
  std::size_t ready_ = 0;    // parts that have been reported
  std::size_t waiting_ = 0;  // parts under way, which follow the ready ones
  std::size_t told_ = 0;     // numbers from here on are final on the host
  std::size_t cut_ = 0;
};

}  // namespace tutti::nn::detail::device
