// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer.hpp"

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace bench {

namespace detail {

/// Builds the list of layers of Inception-v3. A convolution with its normalisation is one layer, and branches follow
/// one another: no layer of tutti::nn joins branches.
class inception {
 public:
  struct kernel {
    std::size_t channels;
    std::size_t rows = 1;
    std::size_t columns = 1;
    std::size_t side = 0;  ///< side of the output map, where it is smaller
  };

  inception(std::size_t channels, std::size_t side) : channels_(channels), side_(side) {}

  /// Adds convolutions in sequence, from the module's input to an output of the module.
  inception& branch(std::initializer_list<kernel> kernels) {
    std::size_t inputs = channels_;
    for (kernel const& k : kernels) {
      inputs = add(inputs, k);
    }
    outputs_ += inputs;
    return *this;
  }
  /// Adds a branch whose last convolution has another one beside it.
  inception& forked_branch(std::initializer_list<kernel> kernels, kernel last, kernel neighbour) {
    std::size_t inputs = channels_;
    for (kernel const& k : kernels) {
      inputs = add(inputs, k);
    }
    outputs_ += add(inputs, last) + add(inputs, neighbour);
    return *this;
  }
  /// Adds a branch that only pools the module's input.
  inception& pooled_branch() {
    outputs_ += channels_;
    return *this;
  }
  /// Ends the module. Its outputs, on maps of this side, are the input of the next.
  inception& join(std::size_t side) {
    channels_ = outputs_;
    outputs_ = 0;
    side_ = side;
    return *this;
  }
  inception& dense(std::size_t classes) {
    layers_.push_back({(channels_ + 1) * classes, static_cast<double>(channels_ * classes)});
    return *this;
  }

  [[nodiscard]] std::vector<layer> const& layers() const noexcept { return layers_; }

 private:
  std::size_t add(std::size_t inputs, kernel const& k) {
    std::size_t const side = k.side == 0 ? side_ : k.side;
    std::size_t const weights = inputs * k.rows * k.columns * k.channels;
    layers_.push_back({weights + 2 * k.channels, static_cast<double>(weights * side * side)});
    return k.channels;
  }

  std::size_t channels_;
  std::size_t side_;
  std::size_t outputs_ = 0;
  std::vector<layer> layers_;
};

}  // namespace detail

/// Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the Inception architecture for computer vision", CVPR 2016,
/// for 299 x 299 and 1000 classes, as every implementation has it: 23,834,568 parameters without the auxiliary
/// classifier, which is a part of some trainings only and has 3,326,696 more.
[[nodiscard]] inline std::vector<layer> inception_v3() {
  detail::inception net(3, 299);
  net.branch({{32, 3, 3, 149}}).join(149).branch({{32, 3, 3, 147}}).join(147).branch({{64, 3, 3}}).join(73);
  net.branch({{80}}).join(73).branch({{192, 3, 3, 71}}).join(35);
  for (std::size_t const pool : {32U, 64U, 64U}) {
    net.branch({{64}}).branch({{48}, {64, 5, 5}}).branch({{64}, {96, 3, 3}, {96, 3, 3}}).branch({{pool}}).join(35);
  }
  net.branch({{384, 3, 3, 17}}).branch({{64}, {96, 3, 3}, {96, 3, 3, 17}}).pooled_branch().join(17);
  for (std::size_t const c : {128U, 160U, 160U, 192U}) {
    net.branch({{192}}).branch({{c}, {c, 1, 7}, {192, 7, 1}});
    net.branch({{c}, {c, 7, 1}, {c, 1, 7}, {c, 7, 1}, {192, 1, 7}}).branch({{192}}).join(17);
  }
  net.branch({{192}, {320, 3, 3, 8}}).branch({{192}, {192, 1, 7}, {192, 7, 1}, {192, 3, 3, 8}}).pooled_branch().join(8);
  for (int i = 0; i != 2; ++i) {
    net.branch({{320}}).forked_branch({{384}}, {384, 1, 3}, {384, 3, 1});
    net.forked_branch({{448}, {384, 3, 3}}, {384, 1, 3}, {384, 3, 1}).branch({{192}}).join(8);
  }
  return net.dense(1000).layers();
}

}  // namespace bench
