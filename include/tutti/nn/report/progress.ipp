// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/report/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// True if the file is a terminal, and not one that Open MPI's mpirun, or PRRTE's prun, creates to capture a
/// process's output.
inline bool is_watched(std::FILE* file) noexcept {
  return isatty(fileno(file)) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr &&
         std::getenv("PMIX_RANK") == nullptr;
}

/// The width of the terminal now; 80 if it does not say.
inline std::size_t columns_of(std::FILE* terminal) noexcept {
  winsize size{};
  return ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

/// Seconds as "1:05", or "2:00:09" from an hour on.
inline std::string clock_text(double seconds) {
  auto const whole = static_cast<std::uint64_t>((std::min)(seconds, 1e9));
  auto const two_digits = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  std::string const minutes =
      whole < 3600 ? std::to_string(whole / 60) : std::to_string(whole / 3600) + ":" + two_digits(whole / 60 % 60);
  return minutes + ":" + two_digits(whole % 60);
}

TUTTI_DECL progress::progress(std::FILE* file, std::size_t epochs, std::size_t images)
    : file_(file), moves_(file != nullptr && is_watched(file)), epochs_(epochs), images_(images) {}

TUTTI_DECL void progress::epoch(epoch_result const& result) {
  using tutti::detail::fixed_text;
  write(tutti::detail::message({moves_ ? "\r\x1b[K" : "", "epoch ", result.epoch + 1, "/", epochs_, ": loss ",
                                fixed_text(result.training_loss, 4), ", test loss ", fixed_text(result.test_loss, 4),
                                ", test accuracy ", fixed_text(100 * result.test_accuracy, 2), " %, ",
                                fixed_text(result.images_per_second(), 0), " images/s, ", fixed_text(result.seconds, 1),
                                " s\n"}));
}

TUTTI_DECL void progress::draw(step_result const& result) {
  using tutti::detail::fixed_text;
  using tutti::detail::message;
  std::size_t const position = result.epoch * images_ + images_done_;
  auto const images = static_cast<double>(position - images_before_);
  double const seconds = result.seconds - begin_;
  std::vector<std::string> fields{
      message({"epoch ", result.epoch + 1, "/", epochs_}),
      message({"step ", result.batch + 1, "/", (images_ + batch_ - 1) / batch_}),
      message({"loss ", fixed_text(double{loss_}, 4)}),
  };
  if (images > 0 && seconds > 0) {
    auto const left = static_cast<double>((std::max)(epochs_ * images_, position) - position);
    fields.push_back(fixed_text(images / seconds, 0) + " images/s");
    fields.push_back(clock_text(left * seconds / images) + " left");
  }
  std::string line;
  for (std::string const& field : fields) {
    std::string const longer = line + (line.empty() ? "" : "  ") + field;
    if (longer.size() >= columns_of(file_)) {
      break;
    }
    line = longer;
  }
  write("\r\x1b[K" + line);
}

TUTTI_DECL void progress::write(std::string const& text) {
  if (file_ != nullptr) {
    std::fputs(text.c_str(), file_);
    std::fflush(file_);
  }
}

}  // namespace tutti::nn
