// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The number of images of each class that a model took for each class.
class confusion_matrix {
 public:
  /// The images of one class that were taken for another.
  struct confusion {
    std::size_t label = 0;     ///< true class
    std::size_t answer = 0;    ///< class for which the model took them
    std::uint64_t images = 0;  ///< number of images
  };

  /// Constructs a matrix of zeros.
  /// @pre at least one class
  explicit confusion_matrix(std::size_t classes) : classes_(classes), counts_(classes * classes) {
    expects(classes > 0, "confusion_matrix: there must be at least one class, not ", classes);
  }

  /// Counts an image.
  /// @pre both classes exist
  void add(std::size_t label, std::size_t answer) { ++counts_[index(label, answer)]; }

  /// The number of classes.
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  /// The images of class `label` that were taken for class `answer`.
  [[nodiscard]] std::uint64_t count(std::size_t label, std::size_t answer) const {
    return counts_[index(label, answer)];
  }
  /// The images of a class.
  [[nodiscard]] TUTTI_DECL std::uint64_t images(std::size_t label) const;
  /// All images.
  [[nodiscard]] TUTTI_DECL std::uint64_t images() const;
  /// The share of a class's images that were recognised; 0 if it has none.
  [[nodiscard]] double accuracy(std::size_t label) const { return share(count(label, label), images(label)); }
  /// The share of all images that were recognised; 0 if there are none.
  [[nodiscard]] TUTTI_DECL double accuracy() const;
  /// The most frequent confusions, at most this many, the largest first.
  [[nodiscard]] TUTTI_DECL std::vector<confusion> worst(std::size_t limit) const;

 private:
  [[nodiscard]] std::size_t index(std::size_t label, std::size_t answer) const {
    expects(label < classes_ && answer < classes_, "confusion_matrix: classes must be below ", classes_, ", not ",
            label, " and ", answer);
    return label * classes_ + answer;
  }
  [[nodiscard]] static double share(std::uint64_t part, std::uint64_t whole) noexcept {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  std::size_t classes_;
  std::vector<std::uint64_t> counts_;  // a row for each label
};

/// A report for a terminal of this many columns: the accuracy, the accuracy of each class, and the matrix, or the most
/// frequent confusions where the matrix is too wide.
/// @param names a name for each class; empty: classes have numbers only
[[nodiscard]] TUTTI_DECL std::string to_text(confusion_matrix const& matrix, std::span<std::string const> names,
                                             std::size_t columns = 80);

/// Plots the matrix, as SVG: a row for each class, in which each square is the darker the larger its share of the
/// class's images.
/// @param names a name for each class; empty: classes have numbers only
[[nodiscard]] TUTTI_DECL std::string plot_svg(confusion_matrix const& matrix, std::span<std::string const> names,
                                              std::string const& title);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/confusion_matrix.ipp>
#endif
