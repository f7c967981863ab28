// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/checkpoint/base/training_stopped.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>
#include <tutti/nn/detail/checkpoint/share.hpp>
#include <tutti/nn/detail/trainer/common_look.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The start of a checkpointer: with the training, or later, in another world after a fault. In the second case the
/// checkpoints in the folder belong to this training.
enum class checkpoint_start { beginning, continuation };

/// An observer that keeps checkpoints of a training, on all of its ranks.
///
/// A failed write does not stop the training: `problem` returns the reason, and the next checkpoint is tried at its
/// time. The latest checkpoint stays intact; older ones are removed first if there is no room for a new one.
///
/// The folder belongs to one training. It is locked while rank 0 has its checkpointer, and nothing is written to it
/// after another training has taken it over.
///
/// A resumed training may have more epochs and other rates (`fingerprint`).
///
/// With `checkpoint_options::stop`, ranks ask each other about twice a second if one of them is to stop.
///
/// Law: a training that stops after any step and is resumed with equally many ranks has, from its last checkpoint on,
/// the weights, losses and test results of an uninterrupted one, bit for bit. With another number of ranks they are
/// equal up to the rounding of sums, and the layers' statistics are replaced by their mean over the ranks. The training
/// loss of the resumed epoch is that of its steps after the checkpoint.
///
/// If ranks have their own weights, or their strategy has state, each rank writes its part, whatever the options say,
/// and the training can only be resumed with the same number of ranks. Pending operations of the strategy are waited
/// for. The law then holds as far as the strategy is deterministic: one that uses messages as they arrive is not.
///
/// Cost of a checkpoint: writing twice the parameters and waiting for the disk, on rank 0, or divided among all
/// ranks, or on each rank, with the strategy's state; one small gather if there are parts or statistics, and one small
/// broadcast if there are parts. Cost of looking for a request to stop: one small allreduce, at steps that rank 0
/// chooses, half a second apart or each if they take longer. Cost of resuming from parts of the ranks' own state: rank
/// 0 reads and checks all parts, each rank reads its own.
template <group Communicator>
class checkpointer {
 public:
  /// Collective. With `resume` restores the model, its strategy and the history.
  /// @pre the strategy outlives this, and has made no step
  /// @throws checkpoint_error, on all ranks: the folder is unusable or in use by another training, its checkpoints are
  ///         all damaged or of another training, or it has some and `resume` is false
  checkpointer(Communicator& world, replica& model, strategy& ranks, history& history, fingerprint training,
               checkpoint_options options, checkpoint_start start = checkpoint_start::beginning)
      : world_(world.alias()),
        model_(model),
        strategy_(ranks),
        history_(history),
        options_(std::move(options)),
        in_parts_(options_.is_sharded || ranks.local_memory() != rank_memory::statistics),
        expected_(detail::expected_of(model, std::move(training), ranks.local_memory())),
        collect_(world, doubling{}) {
    std::string failure;
    detail::checkpoint_folder::loaded_checkpoint last;
    bool has_checkpoint = false;
    if (world_.rank() == 0) {
      try {
        has_checkpoint = open(last, start);
      } catch (checkpoint_error const& e) {
        failure = e.what();
      }
    }
    detail::share(world_, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
    folder_owner_words header{has_checkpoint ? 1U : 0U, last.step};
    if (world_.rank() == 0) {
      auto const& owner = folder_->owner();
      header = {header[0], header[1], owner.training[0], owner.training[1], owner.run};
    }
    tutti::broadcast{world_, doubling{}}(header, 0);
    if (header[0] != 0) {
      detail::share(world_, last.state, 0);
      if (!decode(last.state.history, history_)) {
        throw checkpoint_error("the history in " + options_.folder.string() +
                               " cannot be read: another version of this program wrote it; resume with that one, or "
                               "choose another folder");
      }
      resumed_position_ = resume_position{last.state.place, last.state.ranks};
      if (expected_.memory != rank_memory::replica) {
        restore(last.state, model_);
      }
    }
    if (in_parts_) {
      open_part(header[0] != 0, header[1], std::move(last.parts), {{header[2], header[3]}, header[4]});
    }
    look_.emplace(world_, step_number());
  }
  checkpointer(checkpointer const&) = delete;
  checkpointer& operator=(checkpointer const&) = delete;

  /// The position at which the training was resumed, if it was.
  [[nodiscard]] std::optional<resume_position> const& resumed_position() const noexcept { return resumed_position_; }
  /// The settings that have changed since the checkpoint from which the training was resumed, on rank 0: "epochs 5 ->
  /// 8; rate 0.1 -> 0.01", or an empty text.
  [[nodiscard]] std::string const& changes() const noexcept { return changes_; }
  /// The later checkpoints that were damaged and moved aside, and the removal of older ones for lack of room, on rank
  /// 0.
  [[nodiscard]] std::vector<std::string> notes() const {
    return folder_ ? folder_->notes() : std::vector<std::string>();
  }
  /// The reason why the last checkpoint could not be written, on rank 0; empty if it was written.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }

  /// Checks that the history, which belongs into the checkpoint of this step, has the step.
  /// @throws precondition_error if the history is not an observer of the training, or a later one than this
  void step(step_result const& result, replica const&) const {
    expects(world_.rank() != 0 || (!history_.steps.empty() && history_.steps.back().epoch == result.epoch &&
                                   history_.steps.back().batch == result.batch),
            "checkpointer: the history does not have the current step; give the history to train before the "
            "checkpointer");
  }
  /// True if a checkpoint is due after the current step.
  [[nodiscard]] bool is_due() const { return options_.interval != 0 && step_number() % options_.interval == 0; }
  /// Saves a checkpoint if one is due after this step.
  /// @throws training_stopped
  void after_step(replica const&) {
    bool const is_saved = is_due();
    if (is_saved) {
      save();
    }
    if (options_.stop != nullptr && look_->is_due(step_number())) {
      stop_if_asked(is_saved);
    }
  }
  /// Saves a checkpoint if one is due after this epoch.
  /// @throws training_stopped
  void epoch(epoch_result const&) {
    bool const is_last = model_.position().epoch == model_.settings().epochs;
    bool const is_saved = options_.interval == 0 || is_last;
    if (is_saved) {
      save();
    }
    if (options_.stop != nullptr && !is_last) {
      stop_if_asked(is_saved);
    }
  }

  /// Writes a checkpoint of the current state. Collective.
  void save() {
    try {
      if (in_parts_) {
        while (!save_shards()) {
        }
      } else {
        save_all();
      }
    } catch (checkpoint_error const& e) {
      problem_ = e.what();
    }
  }

 private:
  /// The result of one rank's part.
  struct receipt {
    detail::file_identity file;
    std::uint64_t is_full = 0;        // 1: the disk has no room
    std::array<char, 240> problem{};  // reason of a failure, or empty

    void set_problem(checkpoint_error const& e) {
      is_full = dynamic_cast<full_disk const*>(&e) != nullptr ? 1 : 0;
      std::string const reason = e.what();
      std::ranges::copy(reason.substr(0, problem.size() - 1), problem.begin());
    }
  };

  /// Presence and step of a checkpoint, and the folder's owner.
  using folder_owner_words = std::array<std::uint64_t, 5>;

  /// Asks all ranks if one is to stop.
  /// @throws training_stopped after a checkpoint
  void stop_if_asked(bool is_saved) {
    std::uint64_t const request =
        look_->largest(static_cast<std::uint64_t>(options_.stop->load(std::memory_order_relaxed)), step_number());
    if (request != 0) {
      if (!is_saved) {
        save();
      }
      throw training_stopped(step_number(), static_cast<int>(request));
    }
  }

  [[nodiscard]] std::uint64_t step_number() const {
    return model_.plan().steps_before(model_.position().epoch) + model_.position().batch;
  }

  bool open(detail::checkpoint_folder::loaded_checkpoint& last, checkpoint_start start) {
    folder_.emplace(options_.folder, options_.keep, options_.model);
    if (start == checkpoint_start::continuation) {
      folder_->take_over();
      return false;
    }
    auto latest = folder_->begin(options_.resume, expected_);
    if (!latest) {
      return false;
    }
    last = std::move(*latest);
    changes_ = std::move(last.changes);
    return true;
  }

  /// Opens the folder on this rank, and restores the rank's own state from its part.
  /// @throws checkpoint_error, on all ranks, if one of them fails
  void open_part(bool resumes, std::uint64_t step, std::vector<detail::file_identity> parts,
                 detail::folder_owner const& owner) {
    bool const restores_part = resumes && expected_.memory != rank_memory::statistics;
    if (restores_part) {
      parts.resize(world_.size());
      tutti::broadcast{world_, doubling{}}(parts, 0);
    }
    receipt result;
    try {
      if (world_.rank() != 0) {
        folder_.emplace(options_.folder, options_.keep, options_.model);
        folder_->owner(owner);
      }
      if (restores_part) {
        restore_part(folder_->read_shard(step, world_.rank(), world_.size(), parts[world_.rank()], expected_));
      }
    } catch (checkpoint_error const& e) {
      result.set_problem(e);
    }
    std::string failure;
    for (auto const& entry : at_rank_0(result)) {
      failure = failure.empty() ? entry.problem.data() : failure;
    }
    detail::share(world_, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
  }

  void restore_part(detail::training_part const& part) {
    unpacker input(part.strategy);
    if (!strategy_.load(input, expected_.parameters) || !input.is_complete()) {
      throw checkpoint_error("the state in " + options_.folder.string() + " of rank " + std::to_string(world_.rank()) +
                             " does not fit its strategy: another version of this program wrote it; resume with that "
                             "one, or choose another folder");
    }
    if (expected_.memory == rank_memory::replica) {
      std::ranges::copy(part.parameters, model_.parameters().begin());
      std::ranges::copy(part.optimizer, model_.optimizer_state().begin());
      if (auto const statistics = model_.statistics(); !statistics.empty()) {
        std::copy_n(part.statistics.begin(), statistics.size(), statistics.begin());
        model_.statistics_images(static_cast<std::size_t>(part.statistics.back()));
      }
      model_.position(resumed_position_->place);
    }
  }

  [[nodiscard]] std::vector<receipt> at_rank_0(receipt const& result) {
    std::vector<receipt> receipts(world_.rank() == 0 ? world_.size() : 0);
    collect_(std::span(&result, 1), receipts, 0);
    return receipts;
  }

  void report_saved() {
    problem_.clear();
    if (options_.after_save) {
      options_.after_save();
    }
  }

  void save_all() {
    auto const local_statistics = detail::weighed_statistics(model_);
    if (world_.rank() == 0) {
      statistics_.resize(local_statistics.size() * world_.size());
    }
    if (!local_statistics.empty()) {
      collect_(local_statistics, statistics_, 0);
    }
    if (world_.rank() == 0) {
      auto const history = encode(history_);
      folder_->write(
          step_number(),
          {model_.position(), world_.size(), model_.parameters(), model_.optimizer_state(), statistics_, history},
          expected_);
      report_saved();
    }
  }

  /// @returns false if older checkpoints were removed to make room, so that all ranks must try again
  bool save_shards() {
    packer output;
    strategy_.save(output);
    std::string const strategy_state = output.take();
    auto const statistics = detail::weighed_statistics(model_);
    receipt result;
    try {
      result.file = folder_->write_shard(step_number(), world_.rank(), world_.size(),
                                         {model_.parameters(), model_.optimizer_state(), statistics, strategy_state},
                                         expected_.memory);
    } catch (checkpoint_error const& e) {
      result.set_problem(e);
    }
    auto const receipts = at_rank_0(result);  // returns on rank 0 only after all parts are on the disk
    bool const is_full = std::ranges::any_of(receipts, [](receipt const& entry) { return entry.is_full != 0; });
    std::array<std::uint64_t, 1> again{is_full && folder_->make_room() ? 1U : 0U};
    tutti::broadcast{world_, doubling{}}(again, 0);
    if (world_.rank() == 0 && again[0] == 0) {
      std::vector<detail::file_identity> shards;
      for (auto const& entry : receipts) {
        if (entry.problem[0] != 0) {
          throw checkpoint_error(entry.problem.data());
        }
        shards.push_back(entry.file);
      }
      folder_->write_manifest(step_number(), model_.position(), encode(history_), shards, expected_);
      report_saved();
    }
    return again[0] == 0;
  }

  Communicator world_;
  replica& model_;
  strategy& strategy_;
  history& history_;
  checkpoint_options options_;
  bool in_parts_;  // true if each rank writes a part
  detail::expected_state expected_;
  tutti::gather<Communicator, doubling> collect_;
  std::optional<detail::checkpoint_folder> folder_;  // folder of this rank's files
  std::vector<float> statistics_;                    // statistics of all ranks, on rank 0
  std::string changes_;
  std::string problem_;
  std::optional<detail::common_look<Communicator>> look_;  // by which ranks ask each other if one is to stop
  std::optional<resume_position> resumed_position_;
};

}  // namespace tutti::nn
