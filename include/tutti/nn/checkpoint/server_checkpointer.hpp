// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/checkpoint/base/training_stopped.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>
#include <tutti/nn/detail/checkpoint/share.hpp>
#include <tutti/topology/doubling.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// An observer that keeps checkpoints of a training with parameter servers, on rank 0, after each epoch: weights,
/// optimizer state and position, which are the servers' whole state. It can be resumed with any number of servers and
/// workers.
///
/// Law: with staleness 0 and equally many workers, a resumed training has the losses and weights of an uninterrupted
/// one, bit for bit. Not saved: the workers' lead over each other (all resume at one step), and the statistics of
/// each worker's layers (all receive one worker's).
///
/// With `checkpoint_options::stop`, rank 0 looks for a request to stop after each epoch's checkpoint, and the training
/// ends there on all ranks, as after its last epoch.
///
/// The training must pause after epochs (`consistency::pauses_after_epochs`). Cost of a checkpoint: the slowest
/// worker's last step; the servers' state travels to a worker, and from there to rank 0; a write of twice the
/// parameters.
class server_checkpointer {
 public:
  /// Collective. With `resume` restores the replicas of all ranks, and the history of rank 0.
  /// @throws checkpoint_error, on all ranks, as `checkpointer`
  template <group Communicator>
  server_checkpointer(Communicator& world, replica& model, history& history, fingerprint training,
                      checkpoint_options options)
      : history_(history),
        stop_(options.stop),
        after_save_(options.after_save),
        expected_(detail::expected_of(model, std::move(training))) {
    std::string failure;
    detail::checkpoint_folder::loaded_checkpoint last;
    bool has_checkpoint = false;
    if (world.rank() == 0) {
      try {
        folder_.emplace(options.folder, options.keep, options.model);
        if (auto latest = folder_->begin(options.resume, expected_)) {
          last = std::move(*latest);
          changes_ = std::move(last.changes);
          has_checkpoint = true;
        }
      } catch (checkpoint_error const& e) {
        failure = e.what();
      }
    }
    detail::share(world, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
    std::array<std::uint64_t, 1> header{has_checkpoint ? 1U : 0U};
    tutti::broadcast{world, doubling{}}(header, 0);
    if (header[0] != 0) {
      detail::share(world, last.state, 0);
      restore(last.state, model);
      if (!decode(last.state.history, history_)) {
        throw checkpoint_error("the history in " + options.folder.string() +
                               " cannot be read: another version of this program wrote it; resume with that one, or "
                               "choose another folder");
      }
      resumed_position_ = resume_position{last.state.place, last.state.ranks};
    }
  }

  /// The position at which the training was resumed, if it was.
  [[nodiscard]] std::optional<resume_position> const& resumed_position() const noexcept { return resumed_position_; }
  /// The settings that have changed since the checkpoint from which the training was resumed, on rank 0, as in
  /// `checkpointer`.
  [[nodiscard]] std::string const& changes() const noexcept { return changes_; }
  /// The later checkpoints that were damaged and moved aside, and the removal of older ones for lack of room, on rank
  /// 0.
  [[nodiscard]] std::vector<std::string> notes() const {
    return folder_ ? folder_->notes() : std::vector<std::string>();
  }
  /// The end of the training on request, on rank 0, if it was ended before its last epoch.
  [[nodiscard]] std::optional<training_stopped> const& stop() const noexcept { return stop_result_; }
  /// The reason why the last checkpoint could not be written, on rank 0; empty if it was written.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }

  /// Ignores the report of a step.
  void step(step_result const&, replica const&) const noexcept {}
  /// Ignores the report of an epoch.
  void epoch(epoch_result const&) const noexcept {}
  /// Writes a checkpoint; called while no worker is in a step.
  /// @returns false if rank 0 was asked to stop: the training ends here
  [[nodiscard]] bool on_pause(replica& model) {
    std::size_t const steps = model.plan().steps_before(model.position().epoch);
    try {
      auto const history = encode(history_);
      auto const statistics = detail::weighed_statistics(model);
      folder_->write(steps, {model.position(), 1, model.parameters(), model.optimizer_state(), statistics, history},
                     expected_);
      problem_.clear();
      if (after_save_) {
        after_save_();
      }
    } catch (checkpoint_error const& e) {
      problem_ = e.what();
    }
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0 &&
        model.position().epoch != model.settings().epochs) {
      stop_result_.emplace(steps, stop_->load(std::memory_order_relaxed));
    }
    return !stop_result_;
  }

 private:
  history& history_;
  std::atomic<int> const* stop_;
  std::function<void()> after_save_;
  detail::expected_state expected_;
  std::optional<detail::checkpoint_folder> folder_;  // on rank 0 only
  std::string changes_;
  std::optional<training_stopped> stop_result_;
  std::string problem_;
  std::optional<resume_position> resumed_position_;
};

}  // namespace tutti::nn
