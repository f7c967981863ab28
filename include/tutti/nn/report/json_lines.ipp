// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/json_lines.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL json_lines::json_lines(std::string path, bool append) : path_(std::move(path)) {
  open(append ? O_APPEND : O_TRUNC);
}

TUTTI_DECL json_lines& json_lines::operator=(json_lines&& other) noexcept {
  if (this != &other) {
    flush();
    path_ = std::move(other.path_);
    file_ = std::move(other.file_);
    lines_ = std::exchange(other.lines_, {});
  }
  return *this;
}

TUTTI_DECL json_lines::~json_lines() {
  flush();
}

TUTTI_DECL void json_lines::open(int flag) {
  file_ = tutti::detail::descriptor([&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0666); });
  if (!file_) {
    fail(errno);
  }
}

TUTTI_DECL void json_lines::flush() noexcept {
  if (file_) {
    static_cast<void>(tutti::detail::write_file(file_.get(), tutti::detail::bytes_of(lines_)));
    lines_.clear();
  }
}

TUTTI_DECL void json_lines::epoch(epoch_result const& result) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (auto const& rank : result.ranks) {
    ranks.push_back({{"compute_s", rank.compute},
                     {"transfer_s", rank.transfer},
                     {"waiting_s", rank.waiting},
                     {"update_s", rank.update}});
  }
  nlohmann::ordered_json const line = {{"event", "epoch"},
                                       {"epoch", result.epoch + 1},
                                       {"images", result.images},
                                       {"training_loss", result.training_loss},
                                       {"test_loss", result.test_loss},
                                       {"test_accuracy", result.test_accuracy},
                                       {"images_per_s", result.images_per_second()},
                                       {"seconds", result.seconds},
                                       {"ranks", ranks}};
  write(line.dump(), true);
}

TUTTI_DECL void json_lines::write_step(step_result const& result) {
  nlohmann::ordered_json const line = {{"event", "step"},
                                       {"epoch", result.epoch + 1},
                                       {"step", result.batch + 1},
                                       {"images", result.images},
                                       {"loss", result.loss},
                                       {"accuracy", result.accuracy},
                                       {"rate", result.rate},
                                       {"sent_bytes", result.bytes_sent},
                                       {"received_bytes", result.bytes_received},
                                       {"seconds", result.seconds}};
  write(line.dump(), false);
}

TUTTI_DECL void json_lines::write(std::string const& line, bool at_once) {
  constexpr std::size_t buffer_limit = 8192;
  if (!file_) {  // a forked process does not inherit the descriptor, and the parent writes the lines so far
    lines_.clear();
    open(O_APPEND);
  }
  lines_ += line;
  lines_ += '\n';
  if (at_once || lines_.size() >= buffer_limit) {
    std::string const lines = std::exchange(lines_, {});
    if (int const code = tutti::detail::write_file(file_.get(), tutti::detail::bytes_of(lines)); code != 0) {
      fail(code);
    }
  }
}

TUTTI_DECL void json_lines::fail(int code) const {
  throw std::runtime_error("cannot write " + path_ + ": " + tutti::detail::describe_write_error(code));
}

}  // namespace tutti::nn
