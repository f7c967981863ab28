// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/json_lines.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL json_lines::json_lines(std::string path, bool behind)
    : path_(std::move(path)), file_(path_, behind ? std::ios::binary | std::ios::app : std::ios::binary) {
  examine();
}

TUTTI_DECL void json_lines::epoch(epoch_result const& done) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (auto const& one : done.ranks) {
    ranks.push_back({{"compute_s", one.compute},
                     {"transfer_s", one.transfer},
                     {"waiting_s", one.waiting},
                     {"update_s", one.update}});
  }
  nlohmann::ordered_json const line = {{"event", "epoch"},
                                       {"epoch", done.epoch + 1},
                                       {"images", done.images},
                                       {"training_loss", done.training_loss},
                                       {"test_loss", done.test_loss},
                                       {"test_accuracy", done.test_accuracy},
                                       {"images_per_s", done.images_per_second()},
                                       {"seconds", done.seconds},
                                       {"ranks", ranks}};
  file_ << line.dump() << '\n';
  file_.flush();
  examine();
}

TUTTI_DECL void json_lines::write_step(step_result const& done) {
  nlohmann::ordered_json const line = {
      {"event", "step"},        {"epoch", done.epoch + 1}, {"step", done.batch + 1},
      {"images", done.images},  {"loss", done.loss},       {"accuracy", done.accuracy},
      {"rate", done.rate},      {"sent_bytes", done.sent}, {"received_bytes", done.received},
      {"seconds", done.seconds}};
  file_ << line.dump() << '\n';
}

TUTTI_DECL void json_lines::examine() const {
  if (!file_) {
    throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
  }
}

}  // namespace tutti::nn
