// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/packing.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::string encode(history const& history) {
  packer output;
  auto const real = [&](double number) { output.number(std::bit_cast<std::uint64_t>(number)); };
  output.number(history.stride).number(history.count).number(history.steps.size());
  for (auto const& step : history.steps) {
    output.number(step.epoch).number(step.batch).number(step.images);
    real(double{step.loss});
    real(double{step.accuracy});
    real(step.seconds);
    real(double{step.rate});
    real(step.bytes_sent);
    real(step.bytes_received);
  }
  output.number(history.epochs.size());
  for (auto const& epoch : history.epochs) {
    output.number(epoch.epoch).number(epoch.images);
    real(epoch.test_loss);
    real(epoch.test_accuracy);
    real(epoch.training_seconds);
    real(epoch.testing_seconds);
    real(epoch.seconds);
    real(epoch.training_loss);
    output.number(epoch.ranks.size());
    for (auto const& rank : epoch.ranks) {
      real(rank.compute);
      real(rank.transfer);
      real(rank.waiting);
      real(rank.update);
    }
  }
  output.number(history.faults.size());
  for (auto const& fault : history.faults) {
    real(fault.seconds);
    output.number(fault.ranks_before).number(fault.ranks);
  }
  return output.take();
}

TUTTI_DECL bool decode(std::string_view bytes, history& history) {
  unpacker input(bytes);
  auto const real = [&] { return std::bit_cast<double>(input.number()); };
  auto const whole = [&] { return input.number_as<std::size_t>(); };
  history = {};
  history.stride = whole();
  history.count = whole();
  if (history.stride == 0) {
    return false;
  }
  // Every iteration consumes bytes, so a wrong count ends the loop.
  for (std::uint64_t count = input.number(); input.good() && count > 0; --count) {
    step_result step;
    step.epoch = whole();
    step.batch = whole();
    step.images = whole();
    step.loss = static_cast<float>(real());
    step.accuracy = static_cast<float>(real());
    step.seconds = real();
    step.rate = static_cast<float>(real());
    step.bytes_sent = real();
    step.bytes_received = real();
    history.steps.push_back(step);
  }
  for (std::uint64_t count = input.number(); input.good() && count > 0; --count) {
    epoch_result epoch;
    epoch.epoch = whole();
    epoch.images = whole();
    epoch.test_loss = real();
    epoch.test_accuracy = real();
    epoch.training_seconds = real();
    epoch.testing_seconds = real();
    epoch.seconds = real();
    epoch.training_loss = real();
    for (std::uint64_t ranks = input.number(); input.good() && ranks > 0; --ranks) {
      rank_time rank;
      for (double* const part : {&rank.compute, &rank.transfer, &rank.waiting, &rank.update}) {
        *part = real();
      }
      epoch.ranks.push_back(rank);
    }
    history.epochs.push_back(std::move(epoch));
  }
  for (std::uint64_t count = input.number(); input.good() && count > 0; --count) {
    double const seconds = real();
    std::size_t const previous_ranks = whole();
    history.faults.push_back({seconds, previous_ranks, whole()});
  }
  return input.is_complete();
}

}  // namespace tutti::nn
