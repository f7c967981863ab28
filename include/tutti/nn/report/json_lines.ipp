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

TUTTI_DECL json_lines::json_lines(std::string path, bool behind) : path_(std::move(path)) {
  open(behind ? O_APPEND : O_TRUNC);
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

TUTTI_DECL void json_lines::open(int how) {
  file_ = tutti::detail::descriptor([&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666); });
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
  write(line.dump(), true);
}

TUTTI_DECL void json_lines::write_step(step_result const& done) {
  nlohmann::ordered_json const line = {{"event", "step"},
                                       {"epoch", done.epoch + 1},
                                       {"step", done.batch + 1},
                                       {"images", done.images},
                                       {"loss", done.loss},
                                       {"accuracy", done.accuracy},
                                       {"rate", done.rate},
                                       {"sent_bytes", done.bytes_sent},
                                       {"received_bytes", done.bytes_received},
                                       {"seconds", done.seconds}};
  write(line.dump(), false);
}

TUTTI_DECL void json_lines::write(std::string const& line, bool at_once) {
  constexpr std::size_t enough = 8192;
  if (!file_) {  // a forked process does not inherit the descriptor, and the parent writes the lines so far
    lines_.clear();
    open(O_APPEND);
  }
  lines_ += line;
  lines_ += '\n';
  if (at_once || lines_.size() >= enough) {
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
