// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/report/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace tutti::inline v0_1_0::nn {

/// True if the file is a terminal, and not one that Open MPI's mpirun, or PRRTE's prun, creates to capture a
/// process's output.
inline bool is_watched(std::FILE* file) noexcept {
  return isatty(fileno(file)) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr &&
         std::getenv("PMIX_RANK") == nullptr;
}

TUTTI_DECL progress::progress(std::FILE* file, std::size_t epochs, std::size_t images)
    : file_(file), moves_(is_watched(file)), epochs_(epochs), images_(images) {}

TUTTI_DECL void progress::epoch(epoch_result const& result) {
  last_end_ = result.seconds;
  using tutti::detail::fixed_text;
  write(tutti::detail::message({moves_ ? "\r\x1b[K" : "", "epoch ", result.epoch + 1, "/", epochs_, ": loss ",
                                fixed_text(result.training_loss, 4), ", test loss ", fixed_text(result.test_loss, 4),
                                ", test accuracy ", fixed_text(100 * result.test_accuracy, 2), " %, ",
                                fixed_text(result.images_per_second(), 0), " images/s, ", fixed_text(result.seconds, 1),
                                " s\n"}));
}

TUTTI_DECL void progress::draw(step_result const& result) {
  constexpr std::size_t width = 24;
  double const share = static_cast<double>(images_done_) / static_cast<double>(images_);
  double const whole = (static_cast<double>(result.epoch) + share) / static_cast<double>(epochs_);
  auto const bar_length = (std::min)(width, static_cast<std::size_t>(share * width));
  std::string const bar = std::string(bar_length, '=') + (bar_length < width ? ">" : "") +
                          std::string(bar_length < width ? width - bar_length - 1 : 0, ' ');
  using tutti::detail::fixed_text;
  std::string const percent = fixed_text(100 * share, 0);
  double const per_second = static_cast<double>(images_done_) / (std::max)(result.seconds - begin_, 1e-9);
  std::string line = tutti::detail::message({"\r\x1b[Kepoch ", result.epoch + 1, "/", epochs_, " [", bar, "] "});
  line.append(3 - (std::min<std::size_t>)(3, percent.size()), ' ');
  tutti::detail::append(line,
                        {percent, " %  ", fixed_text(per_second, 0), " images/s  loss ", fixed_text(double{loss_}, 4)});
  tutti::detail::append(line, {"  accuracy ", fixed_text(100 * double{accuracy_}, 1), " %  rate "});
  tutti::detail::append(line, {tutti::detail::general_text(double{result.rate}, 2), "  "});
  write(line + fixed_text(result.seconds / whole - result.seconds, 0) + " s left");
}

TUTTI_DECL void progress::write(std::string const& text) {
  std::fputs(text.c_str(), file_);
  std::fflush(file_);
}

}  // namespace tutti::nn
