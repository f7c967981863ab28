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

/// Brings a message to the host, from its end on, while what lies before is computed: parts of it, in a stream of their
/// own, each behind an event of the computation. A word of the device may come with each: if it is not 0 when a part
/// arrives, that part, and what lies before, is not what it should be.
template <device_math M>
class arrivals {
 public:
  explicit arrivals(M& math) : math_(math), copies_(math.another_stream()), words_(math, most_parts) {}

  /// A new message of so many floats, to go to the host at `to`. @param word on the device, or null
  void begin(float const* message, std::span<float> to, std::uint32_t const* word) {
    settle();
    message_ = message;
    to_ = to;
    word_ = word;
    told_ = to.size();
    cut_ = to.size();
  }
  /// What has not been told is computed again.
  void begin_again() {
    settle();
    cut_ = told_;
  }

  /// The stream of the copies. Others may use it while no message goes to the host.
  [[nodiscard]] typename M::stream_type& stream() noexcept { return copies_; }

  /// Where the next part ends: what lies behind is on its way.
  [[nodiscard]] std::size_t cut() const noexcept { return cut_; }
  /// Whether any of what is final from `first` on is not on its way yet.
  [[nodiscard]] bool is_new(std::size_t first) const noexcept { return first < cut_; }
  /// Whether what is final from `first` on is worth a copy.
  [[nodiscard]] bool is_part(std::size_t first) const noexcept {
    return is_new(first) && (first == 0 || cut_ - first >= least);
  }
  /// Puts the part from `first` to `cut()` on its way, behind what has been put into the math's stream.
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

  /// Tells of parts that have arrived, without waiting.
  /// @returns false if one is not what it should be
  bool tell_arrived(gradient_listener& listener) {
    while (waiting_ != 0 && math_.has_run(parts_[ready_].arrived)) {
      if (is_wrong()) {
        return false;
      }
      tell(listener);
    }
    return true;
  }
  /// Waits for all parts and tells of them; meanwhile, again and again, of what was told before, if anything was, which
  /// moves on what is on its way to other ranks.
  /// @param take_all whatever the word says
  /// @returns false if one is not what it should be
  bool tell_all(gradient_listener& listener, bool take_all) {
    while (waiting_ != 0) {
      while (!math_.has_run(parts_[ready_].arrived)) {
        if (told_ != to_.size()) {
          listener.completed(told_);
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

  /// Waits until nothing is on its way.
  void settle() {
    math_.record(computed_, copies_);
    math_.finish(computed_);
    ready_ = 0;
    waiting_ = 0;
  }

 private:
  static constexpr std::size_t least = std::size_t{64} << 10;  // floats; shorter parts take as long
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
    listener.completed(told_);
  }

  M& math_;
  typename M::stream_type copies_;
  typename M::event_type computed_;
  pinned<M, std::uint32_t> words_;  // as each part's came
  std::deque<part> parts_;          // events are kept for the next message
  float const* message_ = nullptr;
  std::span<float> to_;
  std::uint32_t const* word_ = nullptr;
  std::size_t ready_ = 0;    // parts that have been told
  std::size_t waiting_ = 0;  // behind them, parts on their way
  std::size_t told_ = 0;     // final on the host from here on
  std::size_t cut_ = 0;
};

}  // namespace tutti::nn::detail::device
