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
inline bool is_watched(std::FILE* out) noexcept {
  return isatty(fileno(out)) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr &&
         std::getenv("PMIX_RANK") == nullptr;
}

TUTTI_DECL progress::progress(std::FILE* out, std::size_t epochs, std::size_t images)
    : out_(out), moves_(is_watched(out)), epochs_(epochs), images_(images) {}

TUTTI_DECL void progress::epoch(epoch_result const& done) {
  last_end_ = done.seconds;
  using tutti::detail::fixed_text;
  write(tutti::detail::message(
      {moves_ ? "\r\x1b[K" : "", "epoch ", done.epoch + 1, "/", epochs_, ": loss ", fixed_text(done.training_loss, 4),
       ", test loss ", fixed_text(done.test_loss, 4), ", test accuracy ", fixed_text(100 * done.test_accuracy, 2),
       " %, ", fixed_text(done.images_per_second(), 0), " images/s, ", fixed_text(done.seconds, 1), " s\n"}));
}

TUTTI_DECL void progress::draw(step_result const& done) {
  constexpr std::size_t width = 24;
  double const share = static_cast<double>(images_done_) / static_cast<double>(images_);
  double const whole = (static_cast<double>(done.epoch) + share) / static_cast<double>(epochs_);
  auto const filled = (std::min)(width, static_cast<std::size_t>(share * width));
  std::string const bar = std::string(filled, '=') + (filled < width ? ">" : "") +
                          std::string(filled < width ? width - filled - 1 : 0, ' ');
  using tutti::detail::fixed_text;
  std::string const percent = fixed_text(100 * share, 0);
  double const per_second = static_cast<double>(images_done_) / (std::max)(done.seconds - began_, 1e-9);
  std::string line = tutti::detail::message({"\r\x1b[Kepoch ", done.epoch + 1, "/", epochs_, " [", bar, "] "});
  line.append(3 - (std::min<std::size_t>)(3, percent.size()), ' ');
  tutti::detail::append(line,
                        {percent, " %  ", fixed_text(per_second, 0), " images/s  loss ", fixed_text(double{loss_}, 4)});
  tutti::detail::append(line, {"  accuracy ", fixed_text(100 * double{accuracy_}, 1), " %  rate "});
  tutti::detail::append(line, {tutti::detail::general_text(double{done.rate}, 2), "  "});
  write(line + fixed_text(done.seconds / whole - done.seconds, 0) + " s left");
}

TUTTI_DECL void progress::write(std::string const& text) {
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
}

}  // namespace tutti::nn
