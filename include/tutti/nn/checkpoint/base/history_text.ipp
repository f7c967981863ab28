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
  packer p;
  auto const real = [&](double number) { p.number(std::bit_cast<std::uint64_t>(number)); };
  p.number(history.steps.size());
  for (auto const& one : history.steps) {
    p.number(one.epoch).number(one.batch).number(one.images);
    real(double{one.loss});
    real(double{one.accuracy});
    real(one.seconds);
    real(double{one.rate});
    real(one.bytes_sent);
    real(one.bytes_received);
  }
  p.number(history.epochs.size());
  for (auto const& one : history.epochs) {
    p.number(one.epoch).number(one.images);
    real(one.test_loss);
    real(one.test_accuracy);
    real(one.training_seconds);
    real(one.testing_seconds);
    real(one.seconds);
    real(one.training_loss);
    p.number(one.ranks.size());
    for (auto const& rank : one.ranks) {
      real(rank.compute);
      real(rank.transfer);
      real(rank.waiting);
      real(rank.update);
    }
  }
  p.number(history.faults.size());
  for (auto const& one : history.faults) {
    real(one.seconds);
    p.number(one.ranks_before).number(one.ranks);
  }
  return p.take();
}

TUTTI_DECL bool decode(std::string_view bytes, history& to) {
  unpacker u(bytes);
  auto const real = [&] { return std::bit_cast<double>(u.number()); };
  auto const whole = [&] { return u.number_as<std::size_t>(); };
  to = {};
  // Every iteration consumes bytes, so a wrong count ends the loop.
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    step_result one;
    one.epoch = whole();
    one.batch = whole();
    one.images = whole();
    one.loss = static_cast<float>(real());
    one.accuracy = static_cast<float>(real());
    one.seconds = real();
    one.rate = static_cast<float>(real());
    one.bytes_sent = real();
    one.bytes_received = real();
    to.steps.push_back(one);
  }
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    epoch_result one;
    one.epoch = whole();
    one.images = whole();
    one.test_loss = real();
    one.test_accuracy = real();
    one.training_seconds = real();
    one.testing_seconds = real();
    one.seconds = real();
    one.training_loss = real();
    for (std::uint64_t ranks = u.number(); u.good() && ranks > 0; --ranks) {
      rank_time rank;
      for (double* const part : {&rank.compute, &rank.transfer, &rank.waiting, &rank.update}) {
        *part = real();
      }
      one.ranks.push_back(rank);
    }
    to.epochs.push_back(std::move(one));
  }
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    double const seconds = real();
    std::size_t const before = whole();
    to.faults.push_back({seconds, before, whole()});
  }
  return u.is_complete();
}

}  // namespace tutti::nn
