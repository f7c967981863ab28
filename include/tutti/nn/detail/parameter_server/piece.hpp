// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/detail/parameter_server/clocks.hpp>
#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/rates.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/regulariser.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// A server's piece of a layer: weights, optimizer, and the clock of each worker. Pieces are independent, so one is
/// updated and read while workers still compute the gradients of others.
///
/// A gradient is a worker's share of the gradient of the mean over a batch, a sum over samples divided by the size of
/// the whole batch. Shares that make up a fraction f of a batch (f = samples / batch) are applied as a step with the
/// mean over those samples, at f times the rate. In synchronous training f = 1. In asynchronous training this makes
/// momentum and norms independent of the number of workers, and applies regularisers with full weight once per batch,
/// not per worker.
class piece {
 public:
  /// @param decay_exemptions number of last keys that weight decay leaves alone
  /// @param weights initial weights of these keys
  /// @param memory state of their optimizer; empty: initial state
  /// @param begin number of steps already made
  piece(key_range keys, std::size_t decay_exemptions, std::span<float const> weights, settings const& settings,
        regulariser extra, std::size_t workers, bool synchronous, std::span<float const> memory, clock_value begin)
      : keys_(keys),
        synchronous_(synchronous),
        extra_(extra),
        weights_(weights.begin(), weights.end()),
        optimizer_(make_optimizer(settings, {{0, keys.size(), decay_exemptions}})),
        clocks_(workers),
        inboxes_(workers, std::vector<float>(keys.size())),
        contributions_(workers),
        updates_read_(workers, begin),
        updates_(begin),
        progress_(static_cast<double>(begin)) {
    std::ranges::copy(memory, optimizer_->state().begin());
    for (std::size_t w = 0; w != workers; ++w) {
      clocks_.reach(w, begin);
    }
  }

  [[nodiscard]] key_range keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<float const> weights() const noexcept { return weights_; }
  [[nodiscard]] detail::clocks const& clocks() const noexcept { return clocks_; }
  [[nodiscard]] std::uint64_t updates() const noexcept { return updates_; }
  /// The state of the optimizer.
  [[nodiscard]] std::span<float const> memory() { return optimizer_->state(); }

  /// The buffer in which a worker's gradient is received.
  [[nodiscard]] std::span<float> inbox(std::size_t worker) noexcept { return inboxes_[worker]; }

  /// Processes a gradient that has arrived in a worker's inbox.
  void add_gradient(std::size_t worker, message const& push, rates const& schedule, histogram& missed_updates) {
    missed_updates.add(updates_ - updates_read_[worker]);
    clocks_.reach(worker, push.clock + 1);
    contributions_[worker] = {push.samples, push.batch, true};
    if (!synchronous_) {
      update(schedule);
    } else {
      combine(schedule);
    }
  }

  /// True if a worker may read the pushes of others so far.
  [[nodiscard]] bool can_read(std::size_t worker, clock_value need) const noexcept {
    return clocks_.least_of_others(worker) >= need;
  }
  /// Records the read of a worker at this clock.
  void read(std::size_t worker, clock_value clock, histogram& lead) noexcept {
    updates_read_[worker] = updates_;
    clock_value const slowest = clocks_.least_of_others(worker);
    lead.add(slowest < clock ? clock - slowest : 0);
  }

  void drop(std::size_t worker, rates const& schedule) {
    clocks_.drop(worker);
    if (synchronous_) {
      combine(schedule);
    }
  }

 private:
  struct contribution {
    std::uint64_t samples = 0;
    std::uint64_t batch = 1;
    bool is_present = false;
  };

  /// Makes a step if all workers have pushed this clock.
  void combine(rates const& schedule) {
    if (clocks_.least() > updates_ && clocks_.least() != clocks::lost_clock) {
      update(schedule);
    }
  }

  /// Makes one step with all gradients present, summed in the order of the workers.
  void update(rates const& schedule) {
    std::span<float> sum;
    std::uint64_t samples = 0;
    std::uint64_t batch = 1;
    for (std::size_t w = 0; w != contributions_.size(); ++w) {
      if (!contributions_[w].is_present) {
        continue;
      }
      contributions_[w].is_present = false;
      samples += contributions_[w].samples;
      batch = contributions_[w].batch;
      if (sum.empty()) {
        sum = inboxes_[w];
      } else {
        for (std::size_t i = 0; i != sum.size(); ++i) {
          sum[i] += inboxes_[w][i];
        }
      }
    }
    ++updates_;
    if (samples == 0) {
      return;
    }
    auto const part = static_cast<float>(samples) / static_cast<float>(batch);
    if (samples != batch) {
      std::ranges::for_each(sum, [&](float& g) { g /= part; });
    }
    extra_.add_to(sum, weights_);
    optimizer_->step(weights_, sum, schedule.at(static_cast<std::size_t>(progress_)) * part);
    progress_ += synchronous_ ? 1.0 : double{part};
  }

  key_range keys_;
  bool synchronous_;
  regulariser extra_;
  std::vector<float> weights_;
  std::unique_ptr<nn::optimizer<float>> optimizer_;
  detail::clocks clocks_;
  std::vector<std::vector<float>> inboxes_;
  std::vector<contribution> contributions_;  // contribution of each worker since the last update
  std::vector<std::uint64_t> updates_read_;  // number of updates at each worker's last read
  std::uint64_t updates_;
  double progress_;  // progress in batches
};

}  // namespace tutti::nn::parameter_server::detail
