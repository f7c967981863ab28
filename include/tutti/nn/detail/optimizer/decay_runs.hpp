// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/parameter_range.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline optimizer {

/// Neighbouring parameters with the same weight decay.
template <class T>
struct decay_run {
  std::size_t first = 0;  ///< index of the first one
  std::size_t size = 0;   ///< number of parameters
  T decay = 0;            ///< 0: none
};

/// These layers, with `decays_all` as if all of their parameters decayed.
[[nodiscard]] inline std::vector<parameter_range> decaying_ranges(std::vector<parameter_range> layers,
                                                                  bool decays_all) {
  for (parameter_range& layer : layers) {
    layer.decay_exemptions = decays_all ? 0 : layer.decay_exemptions;
  }
  return layers;
}

/// Divides the parameters of these layers into the longest runs of equal decay, in order.
/// @pre the layers lie one after the other, without gaps
template <class T>
[[nodiscard]] std::vector<decay_run<T>> decay_runs(std::vector<parameter_range> const& layers, T decay) {
  std::vector<decay_run<T>> runs;
  std::size_t end = 0;
  auto const append = [&](std::size_t size, T run_decay) {
    if (size != 0 && !runs.empty() && runs.back().decay == run_decay) {
      runs.back().size += size;
    } else if (size != 0) {
      runs.push_back({end, size, run_decay});
    }
    end += size;
  };
  for (parameter_range const& layer : layers) {
    expects(layer.offset == end && layer.decay_exemptions <= layer.size,
            "optimizer: layers must lie one after the other, without gaps: one begins at ", layer.offset,
            ", and the one before ends at ", end, "; of its ", layer.size, " parameters ", layer.decay_exemptions,
            " do not decay");
    append(layer.size - layer.decay_exemptions, decay);
    append(layer.decay_exemptions, T{0});
  }
  return runs;
}

/// The number of parameters of all runs.
template <class T>
[[nodiscard]] std::size_t count_parameters(std::vector<decay_run<T>> const& runs) noexcept {
  return runs.empty() ? 0 : runs.back().first + runs.back().size;
}

}  // namespace tutti::nn::detail::optimizer
