// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
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

/// What a checkpoint has to be for a training to go on from it.
struct expected_state {
  fingerprint training;
  std::size_t parameters = 0;
  std::size_t optimizer = 0;
  std::size_t statistics = 0;  ///< of each rank, the images that they are of among them
  rank_type ranks = 1;
  rank_memory memory = rank_memory::none;
  batch_plan plan;
  std::size_t epochs = 0;
};

[[nodiscard]] inline expected_state expected_of(replica& model, fingerprint training,
                                                rank_memory memory = rank_memory::none) {
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

/// A folder of checkpoints of one training. `checkpoint-000000001200.tutti` is what it was after 1200 steps, or of
/// what it was the part that names the files of the others, `checkpoint-000000001200.2-of-4`, one per rank. The
/// first is there when all of the others are.
///
/// Thread safety: different objects may write different files of one folder at once. Only one training at a time
/// may use a folder.
class checkpoint_folder {
 public:
  /// Makes the folder if need be, and looks whether it can be written to.
  /// @param keep how many of the last checkpoints stay; the others are removed
  /// @throws checkpoint_error
  explicit checkpoint_folder(std::filesystem::path where, std::size_t keep = 2);

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return names_.folder(); }

  /// After how many steps there are checkpoints, the latest first, good or not.
  [[nodiscard]] std::vector<std::uint64_t> steps() const;

  /// Writes all of a state as one file.
  /// @throws checkpoint_error; then all is as it was before
  void write(std::uint64_t step, state_view const& state, std::string const& training);

  /// Writes a rank's part: of the parameters and of what the optimizer remembers its block, or all if they are its own.
  /// @throws checkpoint_error
  file_identity write_shard(std::uint64_t step, rank_type rank, rank_type ranks, part_view const& part,
                            rank_memory memory) const;

  /// Reads the part of one of this many ranks.
  /// @param belonging what the file that makes a checkpoint of the parts says of this one
  /// @throws damaged_checkpoint
  [[nodiscard]] training_part read_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                         file_identity const& belonging, expected_state const& expected) const;

  /// Writes what makes one checkpoint of all ranks' parts, which are on the disk.
  /// @throws checkpoint_error; then all is as it was before, but that there are parts that are never read
  void write_manifest(std::uint64_t step, training_place const& at, std::string const& history,
                      std::span<file_identity const> shards, std::string const& training, rank_memory memory);

  struct loaded {
    training_state state;
    std::uint64_t step = 0;
    std::vector<file_identity> parts;  ///< if each rank wrote one
    std::vector<std::string> notes;    ///< what is wrong with later ones, which were set aside
  };

  /// The latest good checkpoint if it is to be resumed from; nothing if there is none at all.
  /// @throws checkpoint_error as `load_last_good`; if there are some, and it is not to be resumed
  [[nodiscard]] std::optional<loaded> begin(bool resume, expected_state const& expected);

  /// The latest checkpoint that is good; nothing if there is none at all. Later ones that are damaged, or of a format
  /// that is not known here, are renamed, to "...damaged" or "...other-format", so that they are not among those that
  /// are kept. Where each rank has a replica of its own, the state has none of them, but all parts have been read and
  /// are good.
  /// @throws checkpoint_error if none is good; if the latest that is readable is of another training, or holds what
  /// each
  ///         of another number of ranks remembers
  [[nodiscard]] std::optional<loaded> load_last_good(expected_state const& expected);

 private:
  static std::span<std::byte const> as_bytes(std::string const& text);
  static std::array<std::uint64_t, 4> words_of(training_place const& at, rank_type ranks, rank_memory memory);

  struct block {
    std::size_t first;
    std::size_t count;
  };
  /// Which of this many numbers are in a rank's part.
  static block part_of(std::size_t all, rank_type rank, rank_type ranks, rank_memory memory);

  void load(std::uint64_t step, expected_state const& expected, loaded& to) const;

  static std::vector<file_identity> parts_named(section_file const& manifest, rank_type ranks);

  void load_shards(std::uint64_t step, std::span<file_identity const> parts, expected_state const& expected,
                   training_state& to) const;

  /// Removes what is older than those to keep: first what makes a checkpoint of it, then its parts. Also parts that
  /// never became one. What cannot be removed stays; that is no reason to fail.
  void prune() const;

  checkpoint_names names_;
  std::size_t keep_;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/folder.ipp>
#endif
