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
  progress(std::FILE* out, std::size_t epochs, std::size_t images);

  /// Records a step.
  template <class Replica>
  void step(step_result const& done, Replica const&) {
    if (done.batch == 0 || images_done_ == 0) {
      images_done_ = 0;
      began_ = last_end_;
      loss_ = done.loss;
      accuracy_ = done.accuracy;
    }
    images_done_ += done.images;
    loss_ += (done.loss - loss_) * 0.05F;  // moving means over about 20 steps
    accuracy_ += (done.accuracy - accuracy_) * 0.05F;
    if (moves_ && (done.seconds >= drawn_ + 0.1 || images_done_ == images_)) {
      drawn_ = done.seconds;
      draw(done);
    }
  }

  /// Shows the result of an epoch.
  void epoch(epoch_result const& done);

 private:
  void draw(step_result const& done);
  void write(std::string const& text);

  std::FILE* out_;
  bool moves_;
  std::size_t epochs_;
  std::size_t images_;
  std::size_t images_done_ = 0;  // images of this epoch so far
  float loss_ = 0;
  float accuracy_ = 0;
  double began_ = 0;
  double last_end_ = 0;
  double drawn_ = 0;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/progress.ipp>
#endif
