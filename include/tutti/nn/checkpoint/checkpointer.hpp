// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/gather.hpp>
#include <tutti/nn/checkpoint/folder.hpp>
#include <tutti/nn/checkpoint/history_text.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/checkpoint/share.hpp>
#include <tutti/nn/checkpoint/state.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/metrics.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::nn {

/// Whether a training begins with its checkpointer, or has begun in another world: then its checkpoints are its own.
enum class checkpoint_start { beginning, going_on };

/// An observer that keeps checkpoints of a training, the same on all of its ranks.
///
/// A checkpoint that cannot be written is no end of the training, which may lose hours by it: `problem` says what
/// was wrong, and the next one is tried in its time. Those written before stay whole.
///
/// Law: a training that stops after any step and is resumed by as many ranks has, from its last checkpoint on, the
/// weights, losses and test results of one that never stopped, bit for bit. By another number of ranks it has them
/// up to the rounding of sums, and what layers remember is replaced by the mean over the ranks.
///
/// Cost of a checkpoint: a write of twice the parameters and a wait for the disk, on rank 0 or divided among all;
/// one small gather if it is sharded or layers keep statistics.
template <group Communicator>
class checkpointer {
 public:
  /// Collective. With `resume` the model, and what was seen, become what they were.
  /// @throws checkpoint_error, on all ranks: the folder cannot be used, its checkpoints are all damaged or of
  ///         another training, or it has some and is not to be resumed from
  checkpointer(Communicator& world, replica& model, history& seen, fingerprint training, checkpoint_options asked,
               checkpoint_start how = checkpoint_start::beginning)
      : world_(world),
        model_(model),
        seen_(seen),
        asked_(std::move(asked)),
        wanted_(expected_of(model, std::move(training))),
        collect_(world, doubling{}) {
    std::string failure;
    training_state last;
    bool resumed = false;
    if (world_.rank() == 0) {
      try {
        resumed = open(last, how);
      } catch (checkpoint_error const& e) {
        failure = e.what();
      }
    }
    share(world_, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
    if (world_.rank() != 0 && asked_.sharded) {
      folder_.emplace(asked_.folder, asked_.keep);
    }
    std::array<std::uint64_t, 1> found{resumed ? 1U : 0U};
    tutti::broadcast{world_, doubling{}}(found, 0);
    if (found[0] != 0) {
      share(world_, last, 0);
      restore(last, model_);
      if (!decode(last.history, seen_)) {
        throw checkpoint_error("the history in " + asked_.folder.string() + " makes no sense");
      }
      from_ = resumed_from{last.place, last.ranks};
    }
  }
  checkpointer(checkpointer const&) = delete;
  checkpointer& operator=(checkpointer const&) = delete;

  /// Where it goes on from, if it does.
  [[nodiscard]] std::optional<resumed_from> const& resumed() const noexcept { return from_; }
  /// On rank 0: which later checkpoints were damaged, and set aside.
  [[nodiscard]] std::vector<std::string> const& notes() const noexcept { return notes_; }
  /// On rank 0: why the last checkpoint could not be written; empty if it was.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }

  void step(step_result const&, replica const&) {
    if (asked_.every != 0 && step_number() % asked_.every == 0) {
      save();
    }
  }
  void epoch(epoch_result const&) {
    if (asked_.every == 0 || model_.place().epoch == model_.asked().epochs) {
      save();
    }
  }

  /// Collective. Writes a checkpoint of now.
  void save() {
    try {
      if (asked_.sharded) {
        save_shards();
      } else {
        save_all();
      }
    } catch (checkpoint_error const& e) {
      problem_ = e.what();
    }
  }

 private:
  /// What one rank says of its part.
  struct receipt {
    file_identity file;
    std::array<char, 240> problem{};  // empty: there is none
  };

  [[nodiscard]] std::uint64_t step_number() const {
    return model_.plan().steps_before(model_.place().epoch) + model_.place().batch;
  }

  bool open(training_state& last, checkpoint_start how) {
    folder_.emplace(asked_.folder, asked_.keep);
    if (how == checkpoint_start::going_on) {
      return false;
    }
    if (asked_.resume) {
      if (auto found = folder_->load_last_good(wanted_)) {
        last = std::move(found->state);
        notes_ = std::move(found->notes);
        return true;
      }
    } else if (auto const steps = folder_->steps(); !steps.empty()) {
      throw checkpoint_error(asked_.folder.string() + " holds checkpoints of a training, the last after " +
                             std::to_string(steps.front()) + " steps: resume it (--resume), or choose another folder");
    }
    return false;
  }

  void save_all() {
    auto const own = model_.statistics();
    if (world_.rank() == 0) {
      statistics_.resize(own.size() * world_.size());
    }
    if (!own.empty()) {
      collect_(own, statistics_, 0);
    }
    if (world_.rank() == 0) {
      auto const history = encode(seen_);
      folder_->write(
          step_number(),
          {model_.place(), world_.size(), model_.parameters(), model_.optimizer_state(), statistics_, history},
          wanted_.training.text());
      problem_.clear();
    }
  }

  void save_shards() {
    receipt mine;
    try {
      mine.file = folder_->write_shard(step_number(), world_.rank(), world_.size(), model_.parameters(),
                                       model_.optimizer_state(), model_.statistics());
    } catch (checkpoint_error const& e) {
      std::string const why = e.what();
      std::ranges::copy(why.substr(0, mine.problem.size() - 1), mine.problem.begin());
    }
    std::vector<receipt> all(world_.rank() == 0 ? world_.size() : 0);
    collect_(std::span(&mine, 1), all, 0);  // all parts are on the disk before it ends on rank 0
    if (world_.rank() == 0) {
      std::vector<file_identity> shards;
      for (auto const& one : all) {
        if (one.problem[0] != 0) {
          throw checkpoint_error(one.problem.data());
        }
        shards.push_back(one.file);
      }
      folder_->write_manifest(step_number(), model_.place(), encode(seen_), shards, wanted_.training.text());
      problem_.clear();
    }
  }

  Communicator& world_;
  replica& model_;
  history& seen_;
  checkpoint_options asked_;
  expected_state wanted_;
  tutti::gather<Communicator, doubling> collect_;
  std::optional<checkpoint_folder> folder_;  // where this rank writes
  std::vector<float> statistics_;            // of all ranks, on rank 0
  std::vector<std::string> notes_;
  std::string problem_;
  std::optional<resumed_from> from_;
};

}  // namespace tutti::nn
