// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/metrics.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::nn {

/// An observer that writes a line of JSON for every step and every epoch as they end: for programs that watch a
/// training, or read what is left of one that was stopped. Lines are whole after every epoch.
///
///     {"event":"step","epoch":1,"step":12,"images":128,"loss":0.7,"accuracy":0.8,"rate":0.1,...,"seconds":0.31}
///     {"event":"epoch","epoch":1,"images":60000,"test_loss":0.1,"test_accuracy":0.97,...,"ranks":[{...}]}
class json_lines {
 public:
  /// @param behind whether to go on behind what the file holds, rather than begin anew
  /// @throws std::runtime_error if the file cannot be written
  explicit json_lines(std::string path, bool behind = false)
      : path_(std::move(path)), file_(path_, behind ? std::ios::binary | std::ios::app : std::ios::binary) {
    check();
  }

  template <class Replica>
  void step(step_result const& done, Replica const&) {
    write({{"event", "step"},
           {"epoch", done.epoch + 1},
           {"step", done.batch + 1},
           {"images", done.images},
           {"loss", done.loss},
           {"accuracy", done.accuracy},
           {"rate", done.rate},
           {"sent_bytes", done.sent},
           {"received_bytes", done.received},
           {"seconds", done.seconds}});
  }

  /// @throws std::runtime_error if the disk is full
  void epoch(epoch_result const& done) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (auto const& one : done.ranks) {
      ranks.push_back({{"compute_s", one.compute},
                       {"transfer_s", one.transfer},
                       {"waiting_s", one.waiting},
                       {"update_s", one.update}});
    }
    write({{"event", "epoch"},
           {"epoch", done.epoch + 1},
           {"images", done.images},
           {"training_loss", done.training_loss},
           {"test_loss", done.test_loss},
           {"test_accuracy", done.test_accuracy},
           {"images_per_s", done.images_per_second()},
           {"seconds", done.seconds},
           {"ranks", ranks}});
    file_.flush();
    check();
  }

 private:
  void write(nlohmann::ordered_json const& line) { file_ << line.dump() << '\n'; }
  void check() const {
    if (!file_) {
      throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
    }
  }

  std::string path_;
  std::ofstream file_;
};

}  // namespace tutti::nn
