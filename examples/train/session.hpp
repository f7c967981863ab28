// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu.hpp"
#include "job.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/json_lines.hpp>
#include <tutti/nn/report/progress.hpp>
#include <tutti/nn/report/usage_meter.hpp>
#include <tutti/trace/timeline.hpp>
#include <tutti/trace/traffic_count.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a rank did for others, in bytes and seconds.
struct rank_traffic {
  double sent = 0;
  double received = 0;
  double busy = 0;     ///< computing
  double waiting = 0;  ///< the rest of the time
};

/// One rank's training: its model, and what rank 0 shows of it. No template, so that the transports and
/// topologies cost nothing here.
class session {
 public:
  /// @param names of all ranks, for the report
  /// @param cards that they compute on
  session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
          std::vector<card> cards);
  /// The same where not every rank computes a part of each batch.
  session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
          std::vector<card> cards, tutti::rank_type part, tutti::rank_type parts);

  [[nodiscard]] tutti::nn::replica& model() noexcept { return *model_; }
  /// The speed of this rank.
  [[nodiscard]] tutti::nn::simulated_speed const& speed() const noexcept { return speed_; }
  [[nodiscard]] tutti::nn::history& history() noexcept { return history_; }
  /// Of which training this is; costs a pass over the images. Of rank 0.
  [[nodiscard]] tutti::nn::fingerprint fingerprint() const;

  /// Goes on with what model and history now hold.
  void resume(tutti::nn::resumed_from const& from);
  /// Goes on as another rank of a smaller world.
  void shrink(tutti::nn::training_state const& from, tutti::rank_type rank, std::vector<std::string> names,
              std::vector<card> cards, std::string const& why);

  /// From now on steps say how many bytes have been sent and received, on top of those before; and what `finish` is
  /// given as moved in the steps from now on.
  /// @pre it counts until the last step
  void count(tutti::traffic_count const& bytes);
  /// From now on these events are of what this rank did over time, if that is asked for.
  void follow(tutti::nn::usage_trace& events);
  /// What it did; null if that is not asked for.
  [[nodiscard]] tutti::nn::usage_meter* meter() noexcept { return meter_ ? &*meter_ : nullptr; }
  /// What all ranks did, for `finish`.
  void keep(std::vector<tutti::nn::usage> ranks);
  /// The report says how many sums overflowed in the steps from now on.
  /// @pre it counts until `finish`
  void count_overflows(std::uint64_t const& overflows) noexcept { overflows_ = &overflows; }
  /// By how much each step's sums of gradients differ at most from sums in double: to be filled in, with a number
  /// before each `step`.
  [[nodiscard]] std::vector<double>& deviations() noexcept { return deviations_; }
  /// Ranks were lost this many seconds after the training began, or was gone on with; `ranks` of `before` went on.
  void fault(double seconds, std::size_t before, std::size_t ranks);

  // An observer of the training; silent but on rank 0.
  void step(tutti::nn::step_result const& done, tutti::nn::replica const& model);
  void epoch(tutti::nn::epoch_result const& done);

  /// In how many steps more gradients are sent than later.
  [[nodiscard]] std::size_t sparsity_warm_up() const;

  /// Shows where the time went and writes the files that the options name.
  /// @param traffic of all ranks but those that were lost; times are left out where the history has them
  void finish(std::vector<std::optional<rank_traffic>> traffic) const;
  /// Shows which rank waited for which, and writes the trace.
  /// @param parts that the ranks play, if they have names
  void show_trace(std::vector<tutti::timeline> ranks, std::vector<std::string> const& parts = {}) const;

 private:
  void make_model(tutti::rank_type part);
  void show(bool going_on);
  void introduce() const;
  [[nodiscard]] std::size_t steps_done() const;
  [[nodiscard]] std::string in_short() const;
  [[nodiscard]] std::string how_it_was_trained() const;
  /// Of each step: a weight follows its gradient by the rate, whatever the momentum.
  [[nodiscard]] std::vector<double> weight_deviations() const;

  job const& work_;
  std::string transport_;
  tutti::rank_type rank_;
  std::vector<std::string> names_;
  std::vector<card> cards_;
  tutti::rank_type parts_;  // of each batch
  tutti::nn::settings settings_;
  tutti::nn::simulated_speed speed_;
  std::optional<tutti::nn::replica> model_;  // made anew for a world of another size
  tutti::nn::history history_;
  std::optional<tutti::nn::progress> shown_;
  std::optional<tutti::nn::json_lines> lines_;
  tutti::time_point began_ = tutti::steady_now();
  double before_ = 0;  // seconds that the training took before it was gone on with
  tutti::traffic_count const* bytes_ = nullptr;
  double sent_before_ = 0;  // in the world before; bytes of this world that are no part of the training, less
  double received_before_ = 0;
  std::size_t steps_before_ = 0;  // since when they are counted
  std::uint64_t const* overflows_ = nullptr;
  std::vector<double> deviations_;
  std::optional<tutti::nn::usage_meter> meter_;
  std::vector<tutti::nn::usage> usage_;
  double resumed_ = 0;  // seconds before this run
};
