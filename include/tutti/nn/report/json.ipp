// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/json.hpp>

#include <nlohmann/json.hpp>

#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL nlohmann::ordered_json to_json(settings const& settings, history const& history) {
  using json = nlohmann::ordered_json;
  auto const times = [](std::vector<rank_time> const& ranks) {
    json list = json::array();
    for (auto const& rank : ranks) {
      list.push_back({{"compute_s", rank.compute},
                      {"transfer_s", rank.transfer},
                      {"waiting_s", rank.waiting},
                      {"update_s", rank.update}});
    }
    return list;
  };
  json result;
  result["settings"] = {{"epochs", settings.epochs},
                        {"batch", settings.batch},
                        {"rate", settings.rate},
                        {"last_rate", settings.last_rate},
                        {"momentum", settings.momentum},
                        {"momentum_corrected", settings.momentum_corrected},
                        {"seed", settings.seed},
                        {"optimizer", name(settings.optimizer)},
                        {"weight_decay", settings.weight_decay},
                        {"decays_all", settings.decays_all},
                        {"trust", settings.trust},
                        {"beta1", settings.beta1},
                        {"beta2", settings.beta2},
                        {"epsilon", settings.epsilon},
                        {"clip_norm", settings.clip_norm},
                        {"label_smoothing", settings.label_smoothing},
                        {"schedule", name(settings.schedule)},
                        {"changes", {{"epochs", settings.changes.epochs}, {"factor", settings.changes.factor}}},
                        {"decay", settings.decay},
                        {"warm_up", settings.warm_up},
                        {"rate_is_for", settings.rate_is_for},
                        {"images", name(settings.images)},
                        {"micro_batch", settings.micro_batch},
                        {"augmented", settings.augmentation.index() != 0},
                        {"standardised", settings.standardise},
                        {"prefetched", settings.prefetch}};
  result["epochs"] = json::array();
  for (auto const& epoch : history.epochs) {
    result["epochs"].push_back({{"epoch", epoch.epoch + 1},
                                {"images", epoch.images},
                                {"training_loss", epoch.training_loss},
                                {"test_loss", epoch.test_loss},
                                {"test_accuracy", epoch.test_accuracy},
                                {"images_per_s", epoch.images_per_second()},
                                {"training_s", epoch.training_seconds},
                                {"testing_s", epoch.testing_seconds},
                                {"seconds", epoch.seconds},
                                {"ranks", times(epoch.ranks)}});
  }
  json loss = json::array();
  json accuracy = json::array();
  json seconds = json::array();
  json sent_bytes = json::array();
  json received_bytes = json::array();
  for (auto const& step : history.steps) {
    loss.push_back(step.loss);
    accuracy.push_back(step.accuracy);
    seconds.push_back(step.seconds);
    sent_bytes.push_back(step.bytes_sent);
    received_bytes.push_back(step.bytes_received);
  }
  result["steps"] = {{"loss", loss},
                     {"accuracy", accuracy},
                     {"seconds", seconds},
                     {"sent_bytes", sent_bytes},
                     {"received_bytes", received_bytes}};
  result["faults"] = json::array();
  for (auto const& fault : history.faults) {
    result["faults"].push_back(
        {{"seconds", fault.seconds}, {"ranks_before", fault.ranks_before}, {"ranks", fault.ranks}});
  }
  result["images_per_s"] = history.images_per_second();
  result["ranks"] = times(history.time());
  if (!history.epochs.empty()) {
    result["test_accuracy"] = history.epochs.back().test_accuracy;
  }
  return result;
}

}  // namespace tutti::nn
