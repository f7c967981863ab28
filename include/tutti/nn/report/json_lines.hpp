// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/base/metrics.hpp>

#include <string>

namespace tutti::inline v0_1_0::nn {

/// An observer that writes a line of JSON for every step and every epoch as they end: for programs that watch a
/// training, or read what is left of one that was stopped. Lines are whole after every epoch.
///
///     {"event":"step","epoch":1,"step":12,"images":128,"loss":0.7,"accuracy":0.8,"rate":0.1,...,"seconds":0.31}
///     {"event":"epoch","epoch":1,"images":60000,"test_loss":0.1,"test_accuracy":0.97,...,"ranks":[{...}]}
class json_lines {
 public:
  /// @param behind whether to go on behind what the file holds, rather than begin anew
  /// @throws std::runtime_error if the file cannot be written
  explicit json_lines(std::string path, bool behind = false);
  /// Takes the file over, and the lines that are not in it yet.
  json_lines(json_lines&&) noexcept = default;
  /// Writes what is left of the old file, then takes the other one over.
  json_lines& operator=(json_lines&& other) noexcept;
  ~json_lines();

  /// Takes the report of a step.
  template <class Replica>
  void step(step_result const& done, Replica const&) {
    write_step(done);
  }

  /// @throws std::runtime_error if the disk is full
  void epoch(epoch_result const& done);

 private:
  void write_step(step_result const& done);
  void write(std::string const& line, bool at_once);
  void open(int how);
  void flush() noexcept;
  [[noreturn]] void fail(int code) const;

  std::string path_;
  tutti::detail::descriptor file_;
  std::string lines_;  ///< that are not in the file yet
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/json_lines.ipp>
#endif
