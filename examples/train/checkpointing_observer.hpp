// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

/// An observer that keeps checkpoints if the options say so, and reports at once when it cannot.
template <class Communicator>
class checkpointing_observer {
 public:
  /// @param again true if the training began in an earlier world
  checkpointing_observer(Communicator& world, session& session, tutti::nn::strategy& strategy,
                         tutti::nn::checkpoint_options options, bool again) {
    if (!options.folder.empty()) {
      saver_.emplace(world, session.model(), strategy, session.history(), session.fingerprint(), std::move(options),
                     again ? tutti::nn::checkpoint_start::continuation : tutti::nn::checkpoint_start::beginning);
      for (auto const& note : saver_->notes()) {
        std::fprintf(stderr, "train: %s; the checkpoint before it is used\n", note.c_str());
      }
      if (saver_->resumed_position()) {
        session.resume(*saver_->resumed_position());
      }
    }
  }

  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const noexcept {}
  void after_step(tutti::nn::replica const& model) {
    if (saver_) {
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

  /// @throws std::runtime_error if the last checkpoint could not be written
  void finish() const {
    if (saver_ && !saver_->problem().empty()) {
      throw std::runtime_error("the training is done, but its last checkpoint is not kept: " + saver_->problem());
    }
  }

 private:
  void report_problem(std::size_t epoch) {
    if (saver_->problem() != reported_problem_) {
      reported_problem_ = saver_->problem();
      if (!reported_problem_.empty()) {
        std::fprintf(stderr, "train: in epoch %zu a checkpoint was left out: %s\n", epoch, reported_problem_.c_str());
      }
    }
  }

  std::optional<tutti::nn::checkpointer<Communicator>> saver_;
  std::string reported_problem_;
};
