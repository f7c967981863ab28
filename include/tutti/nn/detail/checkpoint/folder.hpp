// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/detail/checkpoint/folder_lock.hpp>
#include <tutti/nn/detail/checkpoint/format.hpp>
#include <tutti/nn/detail/checkpoint/names.hpp>
#include <tutti/nn/detail/checkpoint/views.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The properties that a checkpoint must have to be resumed by a training.
struct expected_state {
  fingerprint training;
  std::size_t parameters = 0;
  std::size_t optimizer = 0;
  std::size_t statistics = 0;  ///< size for each rank, with its number of images
  rank_type ranks = 1;
  rank_memory memory = rank_memory::statistics;
  batch_plan plan;
  std::size_t epochs = 0;

  /// The batch sizes before a position, as text: "16 from epoch 1, 32 from epoch 4". A training that resumes there must
  /// have had the same ones.
  [[nodiscard]] TUTTI_DECL std::string batches_before(training_position const& place) const;
};

[[nodiscard]] inline expected_state expected_of(replica& model, fingerprint training,
                                                rank_memory memory = rank_memory::statistics) {
  std::size_t const parameters = std::as_const(model).parameters().size();
  training.add("parameters", parameters);
  return {std::move(training),
          parameters,
          model.optimizer_state().size(),
          weighed_statistics(model).size(),
          model.size(),
          memory,
          model.plan(),
          model.settings().epochs};
}

/// The folder of a training's checkpoints. `checkpoint-000000001200.tutti` is the state after 1200 steps, either
/// whole or as a manifest that names the parts, one per rank: `checkpoint-000000001200.2-of-4`. It appears only after
/// all parts.
///
/// A folder belongs to one training: `begin` locks it for the life of this object, and before each write the lock's
/// file must still name the same owner.
///
/// Thread safety: different objects with the same owner may write different files of one folder concurrently.
class checkpoint_folder {
 public:
  /// Creates the folder if necessary, and checks that it is writable.
  /// @param keep number of the latest checkpoints to keep; others are removed
  /// @param model encoded description of the model, for programs that know the folder only; may be empty
  /// @throws checkpoint_error
  explicit checkpoint_folder(std::filesystem::path folder, std::size_t keep = 2, std::string model = {});

  /// The owner of the folder, for whom this object writes.
  [[nodiscard]] folder_owner const& owner() const noexcept { return owner_; }
  /// Writes for the owner that another rank's object has.
  void owner(folder_owner const& owner) noexcept { owner_ = owner; }
  /// Defects of checkpoints that were left out, and the removal of older ones for lack of room.
  [[nodiscard]] std::vector<std::string> const& notes() const noexcept { return notes_; }

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return names_.folder(); }

  /// The steps of all checkpoints, intact or not, latest first.
  [[nodiscard]] std::vector<std::uint64_t> steps() const { return names_.steps(); }

  /// Writes a whole state as one file. If there is no room, removes all checkpoints but the latest, and tries again.
  /// @throws checkpoint_error; the latest checkpoint is then unchanged
  void write(std::uint64_t step, state_view const& state, expected_state const& training);

  /// Removes all checkpoints but the latest, because the disk has no room for a new one.
  /// @returns false if there are no others
  bool make_room();

  /// Writes a rank's part: its block of the parameters and of the optimizer state, or all if they are the rank's own.
  /// @throws checkpoint_error
  file_identity write_shard(std::uint64_t step, rank_type rank, rank_type ranks, part_view const& part,
                            rank_memory memory) const;

  /// Reads the part of one of `ranks` ranks.
  /// @param expected_identity identity of the part in the manifest
  /// @throws damaged_checkpoint
  [[nodiscard]] training_part read_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                         file_identity const& expected_identity, expected_state const& expected) const;

  /// Writes the manifest, which makes the parts of all ranks a checkpoint. All parts are on the disk.
  /// @throws checkpoint_error; the parts are then never read, all else is unchanged
  void write_manifest(std::uint64_t step, training_position const& position, std::string const& history,
                      std::span<file_identity const> shards, expected_state const& training);

  struct loaded_checkpoint {
    training_state state;
    std::uint64_t step = 0;
    std::vector<file_identity> parts;         ///< identities of the parts, if there are any
    std::array<std::uint64_t, 2> identity{};  ///< identity of the training that wrote it
    std::string changes;                      ///< settings that have changed since
  };

  /// Locks the folder, and removes drafts of writes that never ended. Returns the latest intact checkpoint if `resume`
  /// is true; nothing if there is no checkpoint.
  /// @throws checkpoint_error like `load_last_good`; also if another training holds the lock, or if there are
  /// checkpoints and `resume` is false
  [[nodiscard]] std::optional<loaded_checkpoint> begin(bool resume, expected_state const& expected);

  /// Makes the folder that of the survivors of a fault. A lost rank that still runs, and holds the lock, writes nothing
  /// more.
  /// @throws checkpoint_error
  void take_over();

  /// Returns the latest intact checkpoint; nothing if there is none at all. Later ones that are damaged or of an
  /// unknown format are renamed, to "...damaged" or "...other-format", so that they do not count among the kept ones,
  /// and noted.
  /// If each rank has its own replica, the state has none of them, but all parts have been read and verified.
  /// @throws checkpoint_error if none is intact; if the latest readable one is of another training, or has state of
  /// each of another number of ranks
  [[nodiscard]] std::optional<loaded_checkpoint> load_last_good(expected_state const& expected);

  struct block {
    std::size_t first;
    std::size_t count;
  };
  /// The block of `count` numbers in a rank's part.
  static block part_of(std::size_t count, rank_type rank, rank_type ranks, rank_memory memory);

  /// The identities of the parts that a manifest names.
  static std::vector<file_identity> parts_named(section_file const& manifest, rank_type ranks);

 private:
  /// @throws checkpoint_error if the folder belongs to another training
  void expect_owner() const;
  /// Writes the file that completes a checkpoint.
  void write_whole(std::uint64_t step, std::span<section_bytes const> parts);
  void remove_drafts() const;

  static std::span<std::byte const> as_bytes(std::string const& text);
  static std::array<std::uint64_t, 4> words_of(training_position const& position, rank_type ranks, rank_memory memory);

  void load(std::uint64_t step, expected_state const& expected, loaded_checkpoint& output) const;

  void load_shards(std::uint64_t step, std::span<file_identity const> parts, expected_state const& expected,
                   training_state& state) const;

  /// Removes checkpoints older than the ones to keep, first the file that completes each, then its parts; also parts
  /// without a manifest. Failures are ignored: the files remain.
  void prune(std::size_t keep) const;

  checkpoint_names names_;
  std::size_t keep_;
  std::string model_;                // encoded description of the model
  std::optional<folder_lock> lock_;  // on rank 0
  folder_owner owner_;
  std::vector<std::string> notes_;
  bool has_made_room_ = false;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/folder.ipp>
#endif
