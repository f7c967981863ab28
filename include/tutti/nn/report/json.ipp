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
    for (auto const& one : ranks) {
      list.push_back({{"compute_s", one.compute},
                      {"transfer_s", one.transfer},
                      {"waiting_s", one.waiting},
                      {"update_s", one.update}});
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
                        {"trust", settings.trust},
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
  for (auto const& one : history.epochs) {
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
  for (auto const& one : history.steps) {
    loss.push_back(one.loss);
    accuracy.push_back(one.accuracy);
    seconds.push_back(one.seconds);
    sent.push_back(one.bytes_sent);
    received.push_back(one.bytes_received);
  }
  result["steps"] = {
      {"loss", loss}, {"accuracy", accuracy}, {"seconds", seconds}, {"sent_bytes", sent}, {"received_bytes", received}};
  result["faults"] = json::array();
  for (auto const& one : history.faults) {
    result["faults"].push_back({{"seconds", one.seconds}, {"ranks_before", one.ranks_before}, {"ranks", one.ranks}});
  }
  result["images_per_s"] = history.images_per_second();
  result["ranks"] = times(history.time());
  if (!history.epochs.empty()) {
    result["test_accuracy"] = history.epochs.back().test_accuracy;
  }
  return result;
}

}  // namespace tutti::nn
