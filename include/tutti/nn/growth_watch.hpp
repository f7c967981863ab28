// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>
#include <tutti/door.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/trainer/common_look.hpp>
#include <tutti/nn/replica.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// Ends the training in one world, on all ranks after the same step, so that processes that wait can enter the next.
class growth_due : public std::exception {
 public:
  /// The description.
  [[nodiscard]] char const* what() const noexcept override {
    return "processes wait to enter the training; continue it in a larger world (train_elastic)";
  }
};

/// An observer that ends the training in this world, by `growth_due`, when processes wait to enter it. All ranks look
/// at their doors about twice a second, after the same steps, or after each step if these take longer.
///
/// Collective. Cost: that of `door::waiting`, and an allreduce of 16 bytes for each look.
template <group Communicator>
class growth_watch {
 public:
  /// @param entry the door; outlives this
  /// @param max_ranks the number of ranks from which on nobody may enter
  growth_watch(Communicator& world, replica const& model, door& entry, rank_type max_ranks = no_rank)
      : look_(world, step_of(model)), entry_(entry), is_full_(world.size() >= max_ranks) {}

  /// Does nothing.
  void step(step_result const&, replica const&) const noexcept {}
  /// Does nothing.
  void epoch(epoch_result const&) const noexcept {}
  /// Looks for processes that wait, if a look is due.
  /// @throws growth_due
  void after_step(replica const& model) {
    std::uint64_t const step = step_of(model);
    if (!is_full_ && look_.is_due(step) && look_.largest(count_waiting(), step) != 0) {
      throw growth_due();
    }
  }

  /// The reason why this rank could not look at its door the last time; empty if it could. The other ranks still look.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }

 private:
  [[nodiscard]] std::uint64_t count_waiting() {
    try {
      problem_.clear();
      return entry_.waiting();
    } catch (error const& e) {
      problem_ = e.what();
      return 0;
    }
  }
  [[nodiscard]] static std::uint64_t step_of(replica const& model) {
    return model.plan().steps_before(model.position().epoch) + model.position().batch;
  }

  detail::common_look<Communicator> look_;
  door& entry_;
  bool is_full_;
  std::string problem_;
};

}  // namespace tutti::nn
