// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/gather.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>
#include <tutti/nn/detail/checkpoint/share.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

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
/// Where ranks have weights of their own, or their strategy remembers something, each writes its part, whatever the
/// options say, and only as many ranks go on. What such a strategy has under way is waited for. The law holds
/// if the strategy would have done the same twice: of one that takes what has arrived in time, up to what that is.
///
/// Cost of a checkpoint: a write of twice the parameters and a wait for the disk, on rank 0 or divided among all, or by
/// each rank, with what its strategy remembers; one small gather if there are parts or layers keep statistics. Of
/// resuming from parts of ranks' own: rank 0 reads all of them, to see that they are good, and each rank its own.
template <group Communicator>
class checkpointer {
 public:
  /// Collective. With `resume` the model, its strategy, and the history, become what they were.
  /// @pre the strategy outlives this, and has made no step
  /// @throws checkpoint_error, on all ranks: the folder cannot be used, its checkpoints are all damaged or of
  ///         another training, or it has some and is not to be resumed from
  checkpointer(Communicator& world, replica& model, strategy& ranks, history& history, fingerprint training,
               checkpoint_options options, checkpoint_start how = checkpoint_start::beginning)
      : world_(world.alias()),
        model_(model),
        strategy_(ranks),
        history_(history),
        options_(std::move(options)),
        in_parts_(options_.sharded || ranks.remembers() != rank_memory::none),
        expected_(detail::expected_of(model, std::move(training), ranks.remembers())),
        collect_(world, doubling{}) {
    std::string failure;
    detail::checkpoint_folder::loaded last;
    bool resumed = false;
    if (world_.rank() == 0) {
      try {
        resumed = open(last, how);
      } catch (checkpoint_error const& e) {
        failure = e.what();
      }
    }
    detail::share(world_, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
    std::array<std::uint64_t, 2> found{resumed ? 1U : 0U, last.step};
    tutti::broadcast{world_, doubling{}}(found, 0);
    if (found[0] != 0) {
      detail::share(world_, last.state, 0);
      if (!decode(last.state.history, history_)) {
        throw checkpoint_error("the history in " + options_.folder.string() +
                               " cannot be read: another version of this program wrote it; resume with that one, or "
                               "choose another folder");
      }
      from_ = resumed_from{last.state.place, last.state.ranks};
      if (expected_.memory != rank_memory::replica) {
        restore(last.state, model_);
      }
    }
    if (in_parts_) {
      open_part(found[0] != 0, found[1], std::move(last.parts));
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

  /// Takes the report of a step.
  void step(step_result const&, replica const&) const noexcept {}
  /// Is told that a step has been made.
  void stepped(replica const&) {
    if (options_.every != 0 && step_number() % options_.every == 0) {
      save();
    }
  }
  /// Takes the report of an epoch.
  void epoch(epoch_result const&) {
    if (options_.every == 0 || model_.place().epoch == model_.settings().epochs) {
      save();
    }
  }

  /// Collective. Writes a checkpoint of now.
  void save() {
    try {
      if (in_parts_) {
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
    detail::file_identity file;
    std::array<char, 240> problem{};  // empty: there is none

    void say(checkpoint_error const& e) {
      std::string const why = e.what();
      std::ranges::copy(why.substr(0, problem.size() - 1), problem.begin());
    }
  };

  [[nodiscard]] std::uint64_t step_number() const {
    return model_.plan().steps_before(model_.place().epoch) + model_.place().batch;
  }

  bool open(detail::checkpoint_folder::loaded& last, checkpoint_start how) {
    folder_.emplace(options_.folder, options_.keep);
    if (how == checkpoint_start::going_on) {
      return false;
    }
    auto found = folder_->begin(options_.resume, expected_);
    if (!found) {
      return false;
    }
    last = std::move(*found);
    notes_ = std::move(last.notes);
    return true;
  }

  /// Opens the folder on this rank, and makes it what its part says.
  /// @throws checkpoint_error, on all ranks, if any cannot
  void open_part(bool resumes, std::uint64_t step, std::vector<detail::file_identity> parts) {
    bool const own = resumes && expected_.memory != rank_memory::none;
    if (own) {
      parts.resize(world_.size());
      tutti::broadcast{world_, doubling{}}(parts, 0);
    }
    receipt result;
    try {
      if (world_.rank() != 0) {
        folder_.emplace(options_.folder, options_.keep);
      }
      if (own) {
        restore_own(folder_->read_shard(step, world_.rank(), world_.size(), parts[world_.rank()], expected_));
      }
    } catch (checkpoint_error const& e) {
      result.say(e);
    }
    std::string failure;
    for (auto const& one : at_rank_0(result)) {
      failure = failure.empty() ? one.problem.data() : failure;
    }
    detail::share(world_, failure, 0);
    if (!failure.empty()) {
      throw checkpoint_error(failure);
    }
  }

  void restore_own(detail::training_part const& part) {
    unpacker from(part.strategy);
    if (!strategy_.load(from, expected_.parameters) || !from.done()) {
      throw checkpoint_error("the state in " + options_.folder.string() + " of rank " + std::to_string(world_.rank()) +
                             " does not fit its strategy: another version of this program wrote it; resume with that "
                             "one, or choose another folder");
    }
    if (expected_.memory == rank_memory::replica) {
      std::ranges::copy(part.parameters, model_.parameters().begin());
      std::ranges::copy(part.optimizer, model_.optimizer_state().begin());
      if (auto const own = model_.statistics(); !own.empty()) {
        std::copy_n(part.statistics.begin(), own.size(), own.begin());
        model_.statistics_images(static_cast<std::size_t>(part.statistics.back()));
      }
      model_.place(from_->place);
    }
  }

  [[nodiscard]] std::vector<receipt> at_rank_0(receipt const& result) {
    std::vector<receipt> all(world_.rank() == 0 ? world_.size() : 0);
    collect_(std::span(&result, 1), all, 0);
    return all;
  }

  void save_all() {
    auto const own = detail::weighed_statistics(model_);
    if (world_.rank() == 0) {
      statistics_.resize(own.size() * world_.size());
    }
    if (!own.empty()) {
      collect_(own, statistics_, 0);
    }
    if (world_.rank() == 0) {
      auto const history = encode(history_);
      folder_->write(
          step_number(),
          {model_.place(), world_.size(), model_.parameters(), model_.optimizer_state(), statistics_, history},
          expected_.training.text());
      problem_.clear();
    }
  }

  void save_shards() {
    packer own;
    strategy_.save(own);
    std::string const remembered = own.take();
    auto const statistics = detail::weighed_statistics(model_);
    receipt result;
    try {
      result.file = folder_->write_shard(step_number(), world_.rank(), world_.size(),
                                         {model_.parameters(), model_.optimizer_state(), statistics, remembered},
                                         expected_.memory);
    } catch (checkpoint_error const& e) {
      result.say(e);
    }
    auto const all = at_rank_0(result);  // all parts are on the disk before that ends on rank 0
    if (world_.rank() == 0) {
      std::vector<detail::file_identity> shards;
      for (auto const& one : all) {
        if (one.problem[0] != 0) {
          throw checkpoint_error(one.problem.data());
        }
        shards.push_back(one.file);
      }
      folder_->write_manifest(step_number(), model_.place(), encode(history_), shards, expected_.training.text(),
                              expected_.memory);
      problem_.clear();
    }
  }

  Communicator world_;
  replica& model_;
  strategy& strategy_;
  history& history_;
  checkpoint_options options_;
  bool in_parts_;  // each rank writes one
  detail::expected_state expected_;
  tutti::gather<Communicator, doubling> collect_;
  std::optional<detail::checkpoint_folder> folder_;  // where this rank writes
  std::vector<float> statistics_;                    // of all ranks, on rank 0
  std::vector<std::string> notes_;
  std::string problem_;
  std::optional<resumed_from> from_;
};

}  // namespace tutti::nn
