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
    bins_.reserve(most);
    open(0);
  }

  /// Records an event. Between enter and leave, "gradient" and "test" are computing, all else is updating.
  void record(event const& e) noexcept {
    switch (e.kind) {
      case event_kind::enter:
        doing_ = e.text == "gradient" || e.text == "test" ? &usage_bin::computing : &usage_bin::updating;
        since_ = e.time;
        return;
      case event_kind::leave:
        spend(e.time);
        doing_ = nullptr;
        return;
      case event_kind::send: {
        usage_bin& to = at(e.time);
        to.bytes_sent += static_cast<double>(e.bytes);
        ++to.messages_sent;
        return;
      }
      case event_kind::receive: {
        usage_bin& to = at(e.time);
        to.bytes_received += static_cast<double>(e.bytes);
        to.messages_received += begins(e) ? 1 : 0;
        return;
      }
      default:
        return;
    }
  }

  /// The activity until `now`.
  [[nodiscard]] usage result(time_point now = steady_now()) {
    (void)at(now);
    double const all = seconds(now - begin_);
    usage made{{}, width_, bins_, 0};
    for (std::size_t i = 0; i != made.bins.size(); ++i) {
      made.bins[i].seconds = (std::min)(width_, all - static_cast<double>(i) * width_);
    }
    return made;
  }
  /// The beginning, on the clock of the events.
  [[nodiscard]] time_point begin() const noexcept { return begin_; }

 private:
  static constexpr std::size_t most = 256;

  /// The message of an event. A message may arrive in parts, which follow each other on one lane from one rank.
  struct message {
    std::uint64_t sequence = UINT64_MAX;
    std::uint32_t flow = 0;
    std::uint32_t step = 0;
    friend bool operator==(message const&, message const&) = default;
  };

  [[nodiscard]] static double seconds(duration d) noexcept { return static_cast<double>(d.count()) * 1e-9; }

  [[nodiscard]] bool begins(event const& e) noexcept {
    std::size_t const where = std::size_t{e.peer} * lane_count + e.flow.lane;
    if (where >= last_.size()) {
      return true;
    }
    message const now{e.number.sequence, e.flow.number, e.step};
    bool const other = now != last_[where];
    last_[where] = now;
    return other;
  }

  /// Adds the time since `since_` to the current activity.
  void spend(time_point end) noexcept {
    if (doing_ == nullptr) {
      return;
    }
    (void)at(end);  // before the loop, which needs a constant width
    double from = (std::max)(0.0, seconds(since_ - begin_));
    for (double const to = seconds(end - begin_); from < to;) {
      auto const i = (std::min)(static_cast<std::size_t>(from / width_), bins_.size() - 1);
      double const border = i + 1 == bins_.size() ? to : (std::min)(to, static_cast<double>(i + 1) * width_);
      bins_[i].*doing_ += border - from;
      from = (std::max)(border, from + 1e-9);
    }
  }

  [[nodiscard]] usage_bin& at(time_point now) noexcept {
    double const when = (std::max)(0.0, seconds(now - begin_));
    while (when >= width_ * static_cast<double>(most)) {
      halve();
    }
    auto const i = static_cast<std::size_t>(when / width_);
    if (i >= bins_.size()) {
      open(i);
    }
    return bins_[i];
  }

  /// Opens all spans up to span i. Skipped ones had no event; their memory is that of the span before.
  void open(std::size_t i) noexcept {
    usage_bin next;
    next.resident = bins_.empty() ? 0 : bins_.back().resident;
    bins_.resize((std::min)(i + 1, most), next);
    bins_.back().resident = detail::resident_bytes();
  }

  void halve() noexcept {
    for (std::size_t i = 0; 2 * i < bins_.size(); ++i) {
      usage_bin both = bins_[2 * i];
      if (2 * i + 1 < bins_.size()) {
        both.add(bins_[2 * i + 1], 1);
      }
      bins_[i] = both;
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
  }

  time_point begin_;
  double width_ = 1e-3;
  std::vector<usage_bin> bins_;
  double usage_bin::*doing_ = nullptr;
  time_point since_{};
  std::vector<message> last_;  // last message of each peer and lane
};

/// A tracer that passes the events to a meter, if one is attached. A meter lives as long as a training; communicators
/// may be replaced.
class usage_trace {
 public:
  static constexpr bool is_enabled = true;  ///< true: there are events

  /// Attaches a meter.
  /// @pre the meter outlives the events
  void attach(usage_meter& to) noexcept { to_ = &to; }
  /// True if a meter is attached.
  [[nodiscard]] bool is_on() const noexcept { return to_ != nullptr; }
  /// Passes an event to the meter.
  /// @pre on()
  void record(event const& e) noexcept { to_->record(e); }

 private:
  usage_meter* to_ = nullptr;
};

static_assert(tracer<usage_trace>);

}  // namespace tutti::nn
