// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/usage.hpp>
#include <tutti/nn/detail/report/resident.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Summarises the events of a training as the rank's activity over time, in at most 256 spans: when these are full,
/// pairs are merged.
///
/// Cost: an addition for each event, a query of the process's memory for each span. No allocation.
/// Thread safety: that of the communicator.
class usage_meter {
 public:
  /// @param ranks size of the world, or of the largest world in which the meter is used
  explicit usage_meter(rank_type ranks, time_point now = steady_now()) : begin_(now), last_(ranks * lane_count) {
    bins_.reserve(max_bins);
    open(0);
  }

  /// Records an event. Between enter and leave, "gradient" and "test" are computing, all else is updating.
  void record(event const& e) noexcept {
    switch (e.kind) {
      case event_kind::enter:
        activity_ = e.text == "gradient" || e.text == "test" ? &usage_bin::computing : &usage_bin::updating;
        activity_begin_ = e.time;
        return;
      case event_kind::leave:
        spend(e.time);
        activity_ = nullptr;
        return;
      case event_kind::send: {
        usage_bin& bin = at(e.time);
        bin.bytes_sent += static_cast<double>(e.bytes);
        ++bin.messages_sent;
        return;
      }
      case event_kind::receive: {
        usage_bin& bin = at(e.time);
        bin.bytes_received += static_cast<double>(e.bytes);
        bin.messages_received += begins(e) ? 1 : 0;
        return;
      }
      default:
        return;
    }
  }

  /// The activity until `now`.
  [[nodiscard]] usage result(time_point now = steady_now()) {
    (void)at(now);
    double const total_seconds = seconds(now - begin_);
    usage output{{}, width_, bins_, 0};
    for (std::size_t i = 0; i != output.bins.size(); ++i) {
      output.bins[i].seconds = (std::min)(width_, total_seconds - static_cast<double>(i) * width_);
    }
    return output;
  }
  /// The beginning, on the clock of the events.
  [[nodiscard]] time_point begin() const noexcept { return begin_; }

 private:
  static constexpr std::size_t max_bins = 256;

  /// The message of an event. A message may arrive in parts, which follow each other on one lane from one rank.
  struct message {
    std::uint64_t sequence = UINT64_MAX;
    std::uint32_t flow = 0;
    std::uint32_t step = 0;
    friend bool operator==(message const&, message const&) = default;
  };

  [[nodiscard]] static double seconds(duration d) noexcept { return static_cast<double>(d.count()) * 1e-9; }

  [[nodiscard]] bool begins(event const& e) noexcept {
    std::size_t const stream = std::size_t{e.peer} * lane_count + e.flow.lane;
    if (stream >= last_.size()) {
      return true;
    }
    message const now{e.number.sequence, e.flow.number, e.step};
    bool const is_new = now != last_[stream];
    last_[stream] = now;
    return is_new;
  }

  /// Adds the time since `activity_begin_` to the current activity.
  void spend(time_point end) noexcept {
    if (activity_ == nullptr) {
      return;
    }
    (void)at(end);  // before the loop, which needs a constant width
    double position = (std::max)(0.0, seconds(activity_begin_ - begin_));
    for (double const end_seconds = seconds(end - begin_); position < end_seconds;) {
      auto const i = (std::min)(static_cast<std::size_t>(position / width_), bins_.size() - 1);
      double const border =
          i + 1 == bins_.size() ? end_seconds : (std::min)(end_seconds, static_cast<double>(i + 1) * width_);
      bins_[i].*activity_ += border - position;
      position = (std::max)(border, position + 1e-9);
    }
  }

  [[nodiscard]] usage_bin& at(time_point now) noexcept {
    double const offset = (std::max)(0.0, seconds(now - begin_));
    while (offset >= width_ * static_cast<double>(max_bins)) {
      halve();
    }
    auto const i = static_cast<std::size_t>(offset / width_);
    if (i >= bins_.size()) {
      open(i);
    }
    return bins_[i];
  }

  /// Opens all spans up to span i. Skipped ones had no event; their memory is that of the span before.
  void open(std::size_t i) noexcept {
    usage_bin next;
    next.resident = bins_.empty() ? 0 : bins_.back().resident;
    bins_.resize((std::min)(i + 1, max_bins), next);
    bins_.back().resident = detail::resident_bytes();
  }

  void halve() noexcept {
    for (std::size_t i = 0; 2 * i < bins_.size(); ++i) {
      usage_bin sum = bins_[2 * i];
      if (2 * i + 1 < bins_.size()) {
        sum.add(bins_[2 * i + 1], 1);
      }
      bins_[i] = sum;
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
  }

  time_point begin_;
  double width_ = 1e-3;
  std::vector<usage_bin> bins_;
  double usage_bin::*activity_ = nullptr;
  time_point activity_begin_{};
  std::vector<message> last_;  // last message of each peer and lane
};

/// A tracer that passes the events to a meter, if one is attached. A meter lives as long as a training; communicators
/// may be replaced.
class usage_trace {
 public:
  static constexpr bool is_enabled = true;  ///< true: there are events

  /// Attaches a meter.
  /// @pre the meter outlives the events
  void attach(usage_meter& meter) noexcept { meter_ = &meter; }
  /// True if a meter is attached.
  [[nodiscard]] bool is_on() const noexcept { return meter_ != nullptr; }
  /// Passes an event to the meter.
  /// @pre on()
  void record(event const& e) noexcept { meter_->record(e); }

 private:
  usage_meter* meter_ = nullptr;
};

static_assert(tracer<usage_trace>);

}  // namespace tutti::nn
