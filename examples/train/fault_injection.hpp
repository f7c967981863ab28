// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/replica.hpp>

#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unistd.h>

/// An observer that ends its rank after the step that --die names, without a message to the others. For a server, a
/// step is an update.
class fault_injection {
 public:
  fault_injection(fault_options const& options, std::uint32_t rank, bool is_a_process) : is_a_process_(is_a_process) {
    for (auto const& death : options.deaths) {
      step_ = death.rank == rank ? death.step : step_;
    }
  }

  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const noexcept {}
  void after_step(tutti::nn::replica const& model) const {
    on_advance(model.plan().steps_before(model.position().epoch) + model.position().batch);
  }
  void on_advance(std::uint64_t steps) const {
    if (step_ == 0 || steps < step_) {
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
  std::uint64_t step_ = 0;  // 0: never
};
