// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/metrics.hpp>

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <unistd.h>

/// An observer that ends its rank behind a step, without a message to the others, if the options say so.
class fate {
 public:
  /// @throws std::runtime_error if one is to die that is no rank
  fate(fault_options const& options, std::uint32_t rank, std::uint32_t ranks, bool is_a_process)
      : is_a_process_(is_a_process) {
    for (auto const& one : options.deaths) {
      if (one.rank >= ranks) {
        throw std::runtime_error("--die names rank " + std::to_string(one.rank) + ", and there are only ranks 0 to " +
                                 std::to_string(ranks - 1));
      }
      step_ = one.rank == rank ? one.step : step_;
    }
  }

  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const noexcept {}
  void stepped(tutti::nn::replica const& model) const {
    if (step_ == 0 || model.plan().steps_before(model.place().epoch) + model.place().batch < step_) {
      return;
    }
    if (is_a_process_) {
      ::kill(::getpid(), SIGKILL);
    }
    throw std::runtime_error("ended by --die after step " + std::to_string(step_));
  }
  void epoch(tutti::nn::epoch_result const&) const {}

 private:
  bool is_a_process_;
  std::size_t step_ = 0;  // 0: never
};
