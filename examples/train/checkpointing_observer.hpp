// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange_text.hpp"
#include "session.hpp"
#include "stop_signals.hpp"
#include <tutti/nn/checkpoint/base/training_stopped.hpp>
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

/// An observer that keeps checkpoints if the options say so, and reports at once when it cannot. It stops the training
/// after a signal.
template <class Communicator>
class checkpointing_observer {
 public:
  /// @param again true if the training began in an earlier world
  checkpointing_observer(Communicator& world, session& session, tutti::nn::strategy& strategy,
                         tutti::nn::checkpoint_options options, bool again)
      : world_(world.alias()), session_(session), folder_(options.folder.string()) {
    if (!options.folder.empty()) {
      options.stop = stop_request;
      saver_.emplace(world, session.model(), strategy, session.history(), session.fingerprint(), std::move(options),
                     again ? tutti::nn::checkpoint_start::continuation : tutti::nn::checkpoint_start::beginning);
      report_notes();
      if (saver_->resumed_position()) {
        session.resume(*saver_->resumed_position(), saver_->changes());
      }
    }
  }

  void step(tutti::nn::step_result const& result, tutti::nn::replica const& model) const {
    end_world_after_signal();
    if (saver_) {
      saver_->step(result, model);
    }
  }
  void after_step(tutti::nn::replica const& model) {
    if (saver_) {
      if (saver_->is_due()) {
        session_.flush_lines();  // a crash must not lose lines of steps before the checkpoint
      }
      saver_->after_step(model);
      report_problem(model.position().epoch + 1);
    }
  }
  void epoch(tutti::nn::epoch_result const& result) {
    if (saver_) {
      saver_->epoch(result);
      report_problem(result.epoch + 1);
    }
  }

  /// Collective.
  /// @throws std::runtime_error, on all ranks, if the last checkpoint could not be written
  void finish() { expect_saved("the training is done"); }
  /// Reports that the training was stopped. Collective.
  /// @throws std::runtime_error, on all ranks, if the checkpoint could not be written
  void finish(tutti::nn::training_stopped const& stop) {
    std::string const text = stop_text(stop.step(), stop.request());
    report_notes();
    expect_saved("the training was " + text);
    if (world_.rank() == 0) {
      std::printf("\n%s%s\n", text.c_str(), resume_text(folder_).c_str());
      std::fflush(stdout);
    }
  }

 private:
  void expect_saved(std::string const& end) {
    std::string const problem = saver_ ? exchange_text(world_, saver_->problem()).front() : std::string();
    if (!problem.empty()) {
      throw std::runtime_error(end + ", but its last checkpoint is not kept: " + problem);
    }
  }
  void report_notes() {
    auto const notes = saver_->notes();
    for (; reported_notes_ != notes.size(); ++reported_notes_) {
      std::fprintf(stderr, "train: %s\n", notes[reported_notes_].c_str());
    }
  }
  void report_problem(std::size_t epoch) {
    report_notes();
    if (saver_->problem() != reported_problem_) {
      reported_problem_ = saver_->problem();
      if (!reported_problem_.empty()) {
        std::fprintf(stderr, "train: in epoch %zu a checkpoint was left out: %s\n", epoch, reported_problem_.c_str());
      }
    }
  }

  Communicator world_;
  session& session_;
  std::string folder_;
  std::optional<tutti::nn::checkpointer<Communicator>> saver_;
  std::string reported_problem_;
  std::size_t reported_notes_ = 0;
};
