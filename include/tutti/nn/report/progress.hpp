// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// An observer that shows the progress of a training: a moving bar on a terminal, elsewhere one line per epoch. Under
/// Open MPI's mpirun, which gives each process a terminal of its own, it prints lines, too, because they may end in a
/// file.
class progress {
 public:
  /// @param epochs, images numbers of epochs and of training images
  progress(std::FILE* file, std::size_t epochs, std::size_t images);

  /// Records a step.
  template <class Replica>
  void step(step_result const& result, Replica const&) {
    if (result.batch == 0 || images_done_ == 0) {
      images_done_ = 0;
      begin_ = last_end_;
      loss_ = result.loss;
      accuracy_ = result.accuracy;
    }
    images_done_ += result.images;
    loss_ += (result.loss - loss_) * 0.05F;  // moving means over about 20 steps
    accuracy_ += (result.accuracy - accuracy_) * 0.05F;
    if (moves_ && (result.seconds >= last_drawing_ + 0.1 || images_done_ == images_)) {
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
  std::size_t images_done_ = 0;  // images of this epoch so far
  float loss_ = 0;
  float accuracy_ = 0;
  double begin_ = 0;
  double last_end_ = 0;
  double last_drawing_ = 0;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/progress.ipp>
#endif
