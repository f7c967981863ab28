// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// An observer that shows how a training goes: on a terminal a bar that moves, elsewhere one line per epoch. Under Open
/// MPI's mpirun, whose processes print to a terminal of its own, it is lines, too: they may end in a file.
class progress {
 public:
  /// @param epochs, images how many epochs there will be, of this many training images
  progress(std::FILE* out, std::size_t epochs, std::size_t images);

  /// Takes the report of a step.
  template <class Replica>
  void step(step_result const& done, Replica const&) {
    if (done.batch == 0 || images_done_ == 0) {
      images_done_ = 0;
      began_ = last_end_;
      loss_ = done.loss;
      accuracy_ = done.accuracy;
    }
    images_done_ += done.images;
    loss_ += (done.loss - loss_) * 0.05F;  // means over the last 20 steps or so, not one batch's luck
    accuracy_ += (done.accuracy - accuracy_) * 0.05F;
    if (moves_ && (done.seconds >= drawn_ + 0.1 || images_done_ == images_)) {
      drawn_ = done.seconds;
      draw(done);
    }
  }

  /// Takes the report of an epoch.
  void epoch(epoch_result const& done);

 private:
  void draw(step_result const& done);
  void write(std::string const& text);

  std::FILE* out_;
  bool moves_;
  std::size_t epochs_;
  std::size_t images_;
  std::size_t images_done_ = 0;  // images of this epoch
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
