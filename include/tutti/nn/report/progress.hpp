// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// An observer that shows the progress of a training: on a terminal a line that is rewritten, with the rate and the
/// time left; elsewhere one line per epoch. Under Open MPI's mpirun, which gives each process a terminal of its own, it
/// prints lines, too, because they may end in a file.
class progress {
 public:
  /// @param file terminal or file; null: shows nothing, as on ranks other than 0
  /// @param epochs, images numbers of epochs and of training images
  progress(std::FILE* file, std::size_t epochs, std::size_t images);

  /// Records a step.
  template <class Replica>
  void step(step_result const& result, Replica const&) {
    if (result.batch == 0 || batch_ == 0) {  // the first step of an epoch, or of a training that was resumed in one
      batch_ = result.images;
      images_done_ = result.batch * batch_;
      loss_ = result.loss;
    }
    if (!has_begun_) {
      has_begun_ = true;
      bool const is_resumed = result.epoch != 0 || result.batch != 0;
      begin_ = is_resumed ? result.seconds : 0;
      images_before_ = result.epoch * images_ + images_done_ + (is_resumed ? result.images : 0);
    }
    images_done_ += result.images;
    loss_ += (result.loss - loss_) * 0.05F;  // a moving mean over about 20 steps
    if (moves_ && (result.seconds >= last_drawing_ + 0.1 || images_done_ >= images_)) {
      last_drawing_ = result.seconds;
      draw(result);
    }
  }

  /// Shows the result of an epoch.
  void epoch(epoch_result const& result);

 private:
  void draw(step_result const& result);
  void write(std::string const& text);

  std::FILE* file_;
  bool moves_;
  std::size_t epochs_;
  std::size_t images_;
  std::size_t batch_ = 0;        // images of a step of this epoch
  std::size_t images_done_ = 0;  // images of this epoch so far
  float loss_ = 0;
  bool has_begun_ = false;
  double begin_ = 0;               // time from which the rate is measured
  std::size_t images_before_ = 0;  // images of the training before `begin_`
  double last_drawing_ = 0;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/progress.ipp>
#endif
