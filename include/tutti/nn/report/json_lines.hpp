// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/training_position.hpp>

#include <string>

namespace tutti::inline v0_1_0::nn {

/// An observer that writes a line of JSON after every step and every epoch, for programs that watch a training or
/// read the record of a stopped one. Lines are complete after every epoch and `flush`, and remain complete if the disk
/// is full.
///
///     {"event":"step","epoch":1,"step":12,"images":128,"loss":0.7,"accuracy":0.8,"rate":0.1,...,"seconds":0.31}
///     {"event":"epoch","epoch":1,"images":60000,"test_loss":0.1,"test_accuracy":0.97,...,"ranks":[{...}]}
class json_lines {
 public:
  /// Begins a file, or overwrites it.
  /// @throws std::runtime_error if the file cannot be written
  explicit json_lines(std::string path);
  /// Continues the file of a training that is resumed, if there is one: cuts off a torn last line, and the lines of
  /// this position and later ones.
  /// @param next the next step; at the end of an epoch, its number of steps
  /// @throws std::runtime_error if the file cannot be written, or has other lines
  json_lines(std::string path, training_position const& next);
  /// Takes over the file, and the lines not yet written to it.
  json_lines(json_lines&&) noexcept = default;
  /// Writes the remaining lines to the old file, then takes over the other one.
  json_lines& operator=(json_lines&& other) noexcept;
  ~json_lines();

  /// Records a step.
  template <class Replica>
  void step(step_result const& result, Replica const&) {
    write_step(result);
  }

  /// Writes the lines so far to the file.
  /// @throws std::runtime_error if the disk is full
  void flush();

  /// Records an epoch.
  /// @throws std::runtime_error if the disk is full
  void epoch(epoch_result const& result);

 private:
  void write_step(step_result const& result);
  void write(std::string const& line);
  void open(int flag);
  [[nodiscard]] int write_lines() noexcept;
  [[noreturn]] void fail(int code) const;

  std::string path_;
  tutti::detail::descriptor file_;
  std::string lines_;  ///< lines not yet written to the file
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/json_lines.ipp>
#endif
