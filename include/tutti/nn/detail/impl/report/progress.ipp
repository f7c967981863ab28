// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL progress::progress(std::FILE* out, std::size_t epochs, std::size_t images)
    : out_(out), moves_(isatty(fileno(out)) == 1), epochs_(epochs), images_(images) {}

TUTTI_DECL void progress::epoch(epoch_result const& done) {
  last_end_ = done.seconds;
  std::fprintf(out_, "%sepoch %zu/%zu: loss %.4f, test loss %.4f, test accuracy %.2f %%, %.0f images/s, %.1f s\n",
               moves_ ? "\r\x1b[K" : "", done.epoch + 1, epochs_, done.training_loss, done.test_loss,
               100 * done.test_accuracy, done.images_per_second(), done.seconds);
  std::fflush(out_);
}

TUTTI_DECL void progress::draw(step_result const& done) {
  constexpr std::size_t width = 24;
  double const share = static_cast<double>(images_done_) / static_cast<double>(images_);
  double const whole = (static_cast<double>(done.epoch) + share) / static_cast<double>(epochs_);
  auto const filled = std::min(width, static_cast<std::size_t>(share * width));
  std::string const bar = std::string(filled, '=') + (filled < width ? ">" : "") +
                          std::string(filled < width ? width - filled - 1 : 0, ' ');
  std::fprintf(
      out_, "\r\x1b[Kepoch %zu/%zu [%s] %3.0f %%  %.0f images/s  loss %.4f  accuracy %.1f %%  rate %.2g  %.0f s left",
      done.epoch + 1, epochs_, bar.c_str(), 100 * share,
      static_cast<double>(images_done_) / std::max(done.seconds - began_, 1e-9), double{loss_}, 100 * double{accuracy_},
      double{done.rate}, done.seconds / whole - done.seconds);
  std::fflush(out_);
}

}  // namespace tutti::nn
