// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/metrics.hpp>
#include <tutti/nn/settings.hpp>

#include <nlohmann/json.hpp>

#include <vector>

namespace tutti::nn {

/// What was asked for and what came of it. Losses are written so that they are read back with the
/// same bits.
[[nodiscard]] inline nlohmann::ordered_json to_json(settings const& asked, history const& seen) {
  using json = nlohmann::ordered_json;
  auto const times = [](std::vector<rank_time> const& ranks) {
    json list = json::array();
    for (auto const& one : ranks) {
      list.push_back({{"compute_s", one.compute},
                      {"transfer_s", one.transfer},
                      {"waiting_s", one.waiting},
                      {"update_s", one.update}});
    }
    return list;
  };
  json result;
  result["settings"] = {{"epochs", asked.epochs},
                        {"batch", asked.batch},
                        {"rate", asked.rate},
                        {"last_rate", asked.last_rate},
                        {"momentum", asked.momentum},
                        {"momentum_corrected", asked.momentum_corrected},
                        {"seed", asked.seed},
                        {"optimizer", name(asked.optimizer)},
                        {"weight_decay", asked.weight_decay},
                        {"trust", asked.trust},
                        {"schedule", name(asked.schedule)},
                        {"changes", {{"epochs", asked.changes.epochs}, {"factor", asked.changes.factor}}},
                        {"warm_up", asked.warm_up},
                        {"rate_is_for", asked.rate_is_for},
                        {"images", name(asked.images)},
                        {"micro_batch", asked.micro_batch},
                        {"augmented", asked.augmentation.index() != 0},
                        {"standardised", asked.standardise},
                        {"prefetched", asked.prefetch}};
  result["epochs"] = json::array();
  for (auto const& one : seen.epochs) {
    result["epochs"].push_back({{"epoch", one.epoch + 1},
                                {"images", one.images},
                                {"training_loss", one.training_loss},
                                {"test_loss", one.test_loss},
                                {"test_accuracy", one.test_accuracy},
                                {"images_per_s", one.images_per_second()},
                                {"training_s", one.training_seconds},
                                {"testing_s", one.testing_seconds},
                                {"seconds", one.seconds},
                                {"ranks", times(one.ranks)}});
  }
  json loss = json::array();
  json accuracy = json::array();
  json seconds = json::array();
  json sent = json::array();
  json received = json::array();
  for (auto const& one : seen.steps) {
    loss.push_back(one.loss);
    accuracy.push_back(one.accuracy);
    seconds.push_back(one.seconds);
    sent.push_back(one.sent);
    received.push_back(one.received);
  }
  result["steps"] = {
      {"loss", loss}, {"accuracy", accuracy}, {"seconds", seconds}, {"sent_bytes", sent}, {"received_bytes", received}};
  result["faults"] = json::array();
  for (auto const& one : seen.faults) {
    result["faults"].push_back({{"seconds", one.seconds}, {"ranks_before", one.before}, {"ranks", one.ranks}});
  }
  result["images_per_s"] = seen.images_per_second();
  result["ranks"] = times(seen.time());
  if (!seen.epochs.empty()) {
    result["test_accuracy"] = seen.epochs.back().test_accuracy;
  }
  return result;
}

}  // namespace tutti::nn
