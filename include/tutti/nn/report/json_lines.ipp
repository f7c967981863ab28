// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/nn/report/json_lines.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// The position of a line: that of its step, or behind all steps of its epoch. Nothing if the line is another text.
inline std::optional<training_position> position_of(std::string const& line) {
  auto const read = nlohmann::json::parse(line, nullptr, false);
  auto const number = [&](char const* name) {
    return read.contains(name) && read[name].is_number_unsigned() ? read[name].get<std::size_t>() : 0;
  };
  if (!read.is_object() || number("epoch") == 0) {
    return std::nullopt;
  }
  return training_position{number("epoch") - 1, number("step") == 0 ? SIZE_MAX : number("step") - 1};
}

TUTTI_DECL json_lines::json_lines(std::string path) : path_(std::move(path)) {
  open(O_TRUNC);
}

TUTTI_DECL json_lines::json_lines(std::string path, training_position const& next) : path_(std::move(path)) {
  open(O_APPEND);
  tutti::detail::standard_numbers const reserved_numbers;
  std::ifstream file(path_, std::ios::binary);
  std::uint64_t length = 0;
  std::size_t number = 1;
  // A last line without its end is torn, and may by chance be good JSON.
  for (std::string line; std::getline(file, line) && !file.eof(); length += line.size() + 1, ++number) {
    auto const position = position_of(line);
    if (!position) {
      throw std::runtime_error("cannot continue " + path_ + ": line " + std::to_string(number) +
                               " is no step and no epoch of a training; name another file");
    }
    if (*position >= next) {
      break;
    }
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(length)) != 0 && errno != EINVAL) {  // EINVAL: a device
    fail(errno);
  }
}

TUTTI_DECL json_lines& json_lines::operator=(json_lines&& other) noexcept {
  if (this != &other) {
    if (file_) {
      static_cast<void>(write_lines());
    }
    path_ = std::move(other.path_);
    file_ = std::move(other.file_);
    lines_ = std::exchange(other.lines_, {});
  }
  return *this;
}

TUTTI_DECL json_lines::~json_lines() {
  if (file_) {
    static_cast<void>(write_lines());
  }
}

TUTTI_DECL void json_lines::open(int flag) {
  file_ = tutti::detail::descriptor([&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0666); });
  if (!file_) {
    fail(errno);
  }
}

TUTTI_DECL int json_lines::write_lines() noexcept {
  struct stat status {};
  int const code = ::fstat(file_.get(), &status) != 0
                       ? errno
                       : tutti::detail::write_file(file_.get(), tutti::detail::bytes_of(lines_));
  if (code != 0 && S_ISREG(status.st_mode)) {
    static_cast<void>(::ftruncate(file_.get(), status.st_size));  // a line that is cut would look like the last one
  }
  lines_.clear();
  return code;
}

TUTTI_DECL void json_lines::flush() {
  if (file_) {
    if (int const code = write_lines(); code != 0) {
      fail(code);
    }
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
  write(line.dump());
  flush();
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
  write(line.dump());
}

TUTTI_DECL void json_lines::write(std::string const& line) {
  constexpr std::size_t buffer_limit = 8192;
  if (!file_) {  // a forked process does not inherit the descriptor, and the parent writes the lines so far
    lines_.clear();
    open(O_APPEND);
  }
  lines_ += line;
  lines_ += '\n';
  if (lines_.size() >= buffer_limit) {
    flush();
  }
}

TUTTI_DECL void json_lines::fail(int code) const {
  throw std::runtime_error("cannot write " + path_ + ": " + tutti::detail::describe_write_error(code));
}

}  // namespace tutti::nn
