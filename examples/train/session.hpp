// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu.hpp"
#include "job.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/json_lines.hpp>
#include <tutti/nn/report/progress.hpp>
#include <tutti/nn/report/usage_meter.hpp>
#include <tutti/nn/saved_model/base/description.hpp>
#include <tutti/trace/timeline.hpp>
#include <tutti/trace/traffic_count.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Bytes and seconds of one rank.
struct rank_traffic {
  double bytes_sent = 0;
  double bytes_received = 0;
  double busy = 0;     ///< computing
  double waiting = 0;  ///< the rest of the time
};

/// The change from one world of a training to the next.
struct world_change {
  std::size_t ranks_before = 0;
  std::size_t newcomers = 0;  ///< ranks that have entered, the last ones
  std::string cause;          ///< the fault; empty if there was none
};

/// One rank's training: its model, and what rank 0 shows of it. No template, so that the transports and
/// topologies cost nothing here.
class session {
 public:
  /// @param names descriptions of all ranks, for the report
  /// @param gpu_indices the GPU of each rank
  session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
          std::vector<gpu_index> gpu_indices);
  /// Overload for strategies in which not every rank computes a part of each batch.
  session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
          std::vector<gpu_index> gpu_indices, tutti::rank_type part, tutti::rank_type parts);

  [[nodiscard]] tutti::nn::replica& model() noexcept { return *model_; }
  /// The speed of this rank.
  [[nodiscard]] tutti::nn::simulated_speed const& speed() const noexcept { return speed_; }
  [[nodiscard]] tutti::nn::history& history() noexcept { return history_; }
  /// Identifies the training. Costs a pass over the images; empty on ranks other than 0.
  [[nodiscard]] tutti::nn::fingerprint fingerprint() const;

  /// The options of checkpoints, with the description of the model, and its file if the options ask for one.
  /// @pre this outlives their use
  [[nodiscard]] tutti::nn::checkpoint_options checkpoints() const;

  /// Continues from the state that model and history now hold.
  /// @param changes settings that have changed since, for the reader
  void resume(tutti::nn::resume_position const& start, std::string const& changes);
  /// Continues as a rank of another world.
  void move_to(tutti::nn::training_state const& start, tutti::rank_type rank, std::vector<std::string> names,
               std::vector<gpu_index> gpu_indices, world_change const& change);

  /// Adds bytes sent and received to the results of further steps. The traffic given to `finish` is of these steps.
  /// @pre `bytes` counts until the last step
  void count(tutti::traffic_count const& bytes);
  /// Meters these events from now on, if the options ask for it.
  void follow(tutti::nn::usage_trace& events);
  /// The meter of this rank; null if the options do not ask for it.
  [[nodiscard]] tutti::nn::usage_meter* meter() noexcept { return meter_ ? &*meter_ : nullptr; }
  /// Keeps the usage of all ranks for `finish`.
  void keep(std::vector<tutti::nn::usage> ranks);
  /// Reports the number of sums that overflow from now on.
  /// @pre `overflows` counts until `finish`
  void count_overflows(std::uint64_t const& overflows) noexcept { overflows_ = &overflows; }
  /// The largest deviation of each step's sums of gradients from sums in double. The caller adds a number before each
  /// `step`, which makes it the deviation of weights: that of gradients, times the rate. Momentum plays no role.
  [[nodiscard]] std::vector<double>& deviations() noexcept { return deviations_; }
  /// Records that ranks were lost or have entered, in seconds after the training began or was resumed; `ranks` of
  /// `ranks_before` continued.
  void fault(double seconds, std::size_t ranks_before, std::size_t ranks);

  // Observes the training; silent but on rank 0.
  void step(tutti::nn::step_result const& result, tutti::nn::replica const& model);
  void epoch(tutti::nn::epoch_result const& result);
  /// Writes the lines of --metrics so far to their file.
  void flush_lines();

  /// Number of first steps in which more gradients are sent than later.
  [[nodiscard]] std::size_t sparsity_warm_up() const;

  /// Shows where the time went and writes the files that the options name.
  /// @param traffic each rank's, nullopt for a lost one; times may be left out where the history has them
  void finish(std::vector<std::optional<rank_traffic>> traffic);
  /// Shows which rank waited for which, and writes the trace.
  /// @param parts names of the ranks' roles, if they have any
  void show_trace(std::vector<tutti::timeline> ranks, std::vector<std::string> const& parts = {}) const;

 private:
  void make_model(tutti::rank_type part);
  /// Begins with the weights of a file.
  void load_weights();
  [[nodiscard]] tutti::nn::model_description description() const;
  /// Saves the model as the last checkpoint has it. A failure does not end the training.
  void save_model_of_checkpoint() const;
  void show(bool continues);
  void introduce() const;
  [[nodiscard]] std::size_t steps_done() const;
  [[nodiscard]] std::string in_short() const;
  [[nodiscard]] std::string how_it_was_trained() const;
  /// Calls f(lines) with the lines of --metrics, if they are asked for. They begin at the first report, which shows
  /// where the training was resumed. A failure ends the lines, not the training.
  template <class F>
  void with_lines(tutti::nn::training_position const& next, F f);

  job const& work_;
  std::string transport_;
  tutti::rank_type rank_;
  std::vector<std::string> names_;
  std::vector<gpu_index> gpu_indices_;
  tutti::rank_type parts_;  // parts of each batch
  tutti::nn::settings settings_;
  tutti::nn::simulated_speed speed_;
  std::vector<std::string> drawn_tensors_;   // names of the tensors that --weights left as they were
  std::optional<tutti::nn::replica> model_;  // replaced for a world of another size
  tutti::nn::history history_;
  std::optional<tutti::nn::progress> progress_;
  std::optional<tutti::nn::json_lines> lines_;
  bool continues_lines_ = false;  // the file may have lines of an earlier process
  std::string lines_problem_;     // the reason why lines are missing
  tutti::time_point began_ = tutti::steady_now();
  double earlier_seconds_ = 0;  // seconds of training before it was resumed
  tutti::traffic_count const* bytes_ = nullptr;
  double sent_before_ = 0;  // bytes sent in earlier worlds, less bytes of this world from before the training
  double received_before_ = 0;
  std::size_t steps_before_ = 0;  // steps before bytes were counted
  std::uint64_t const* overflows_ = nullptr;
  std::vector<double> deviations_;
  std::optional<tutti::nn::usage_meter> meter_;
  std::vector<tutti::nn::usage> usage_;
  double start_seconds_ = 0;  // seconds before this run
};
