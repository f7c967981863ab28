// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

/// The largest number of all ranks, exchanged now and then: about twice a second, or after each step if steps take
/// longer. Rank 0 chooses the steps by the duration of the last ones. Cost: an allreduce of 16 bytes for each look.
template <class Communicator>
class common_look {
 public:
  /// @param step number of steps so far, equal on all ranks
  common_look(Communicator& world, std::uint64_t step)
      : world_(world.alias()),
        agree_(world, doubling{}, max<std::uint64_t>{}),
        last_step_(step),
        next_step_(step + 1) {}

  /// True if all ranks look after this step.
  [[nodiscard]] bool is_due(std::uint64_t step) const noexcept { return step >= next_step_; }

  /// The largest number of all ranks. Collective.
  [[nodiscard]] std::uint64_t largest(std::uint64_t number, std::uint64_t step) {
    constexpr double interval = 0.5e9;  // ns
    auto const steps = static_cast<double>((std::max)(step - last_step_, std::uint64_t{1}));
    time_point const now = steady_now();
    auto const time = static_cast<double>((std::max)((now - last_time_).count(), duration::rep{1}));
    double const distance = std::clamp(steps * interval / time, 1.0, 2 * steps);
    std::array<std::uint64_t, 2> words{number, world_.rank() == 0 ? static_cast<std::uint64_t>(distance) : 0};
    agree_(words);
    last_time_ = now;
    last_step_ = step;
    next_step_ = step + words[1];
    return words[0];
  }

 private:
  Communicator world_;
  allreduce<Communicator, doubling, max<std::uint64_t>> agree_;
  std::uint64_t last_step_;
  std::uint64_t next_step_;
  time_point last_time_ = steady_now();
};

}  // namespace tutti::nn::detail::trainer
