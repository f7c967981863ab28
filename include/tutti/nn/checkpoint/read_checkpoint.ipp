// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>
#include <tutti/nn/detail/checkpoint/format.hpp>
#include <tutti/nn/detail/checkpoint/names.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

namespace detail {

/// Reads the weights and the statistics of a checkpoint, and unites those of its ranks.
class checkpoint_reader {
 public:
  checkpoint_reader(checkpoint_names const& names, std::uint64_t step) : names_(names), file_(names.whole(step)) {
    result_.step = step;
    result_.file = names.whole(step);
    read_description();
    auto const sizes = sizes_of(result_.model.layers);
    std::size_t const numbers_per_rank = sizes.statistics == 0 ? 0 : sizes.statistics + 1;
    // The model, and so its sizes, are the file's word: memory is allocated once the files have as many numbers.
    if (file_.has(section::shards)) {
      for (rank_type r = 0; r != result_.ranks; ++r) {
        static_cast<void>(open_part(r, sizes.parameters, numbers_per_rank));
      }
    } else {
      file_.require_size<float>(section::parameters, sizes.parameters);
      file_.require_size<float>(section::statistics, std::uint64_t{numbers_per_rank} * result_.ranks);
    }
    result_.parameters.resize(sizes.parameters);
    result_.statistics.resize(sizes.statistics);
    training_state state;
    state.ranks = result_.ranks;
    state.statistics.resize(numbers_per_rank * result_.ranks);
    if (file_.has(section::shards)) {
      read_parts(state.statistics);
    } else {
      file_.read(section::parameters, std::span(result_.parameters));
      file_.read(section::statistics, std::span(state.statistics));
    }
    state.parameters = std::move(result_.parameters);
    result_.parameters.resize(sizes.parameters);
    restore(state, {result_.parameters, {}, result_.statistics, 0, 0});  // to no rank: to the mean of all
  }

  [[nodiscard]] saved_training take() { return std::move(result_); }

 private:
  void read_description() {
    auto const text = [&](section id) { return file_.read_text(id, file_.identity().length); };
    auto const model = file_.has(section::model) ? text(section::model) : std::string();
    if (model.empty()) {
      throw checkpoint_error(file_.name() + " does not describe its model: its program did not give a description; " +
                             "resume the training with a program that does (checkpoint_options::model)");
    }
    std::array<std::uint64_t, 4> place{};
    file_.read(section::place, std::span<std::uint64_t>(place));
    constexpr std::uint64_t max_ranks = 1U << 20;
    if (place[2] == 0 || place[2] > max_ranks || place[3] > static_cast<std::uint64_t>(rank_memory::replica)) {
      file_.fail("is damaged: it is of " + std::to_string(place[2]) + " ranks, with memory of kind " +
                 std::to_string(place[3]));
    }
    result_.place = {tutti::detail::integer_cast<std::size_t>(place[0]),
                     tutti::detail::integer_cast<std::size_t>(place[1])};
    result_.ranks = static_cast<rank_type>(place[2]);
    memory_ = static_cast<rank_memory>(place[3]);
    result_.settings = text(section::fingerprint);
    if (!decode(text(section::history), result_.results)) {
      file_.fail("has a history that cannot be read; another version of this program wrote it");
    }
    try {
      result_.model = decode_description(model);
    } catch (model_error const& e) {
      file_.fail(std::string("describes its model in a way that cannot be used: ") + e.what());
    }
  }

  /// Opens a rank's part of a model of this many parameters, and checks its sizes.
  [[nodiscard]] section_file open_part(rank_type r, std::size_t parameters, std::size_t statistics) {
    if (identities_.empty()) {
      identities_ = checkpoint_folder::parts_named(file_, result_.ranks);
    }
    section_file part(names_.part(result_.step, r, result_.ranks));
    if (part.identity() != identities_[r]) {
      part.fail("does not belong to " + file_.name());
    }
    part.require_size<float>(section::parameters,
                             checkpoint_folder::part_of(parameters, r, result_.ranks, memory_).count);
    part.require_size<float>(section::statistics, statistics);
    return part;
  }

  /// Reads each rank's part. Weights that are each rank's own are replaced by their mean.
  void read_parts(std::span<float> statistics) {
    std::size_t const share = statistics.size() / result_.ranks;
    std::vector<double> sums(memory_ == rank_memory::replica ? result_.parameters.size() : 0);
    for (rank_type r = 0; r != result_.ranks; ++r) {
      section_file const part = open_part(r, result_.parameters.size(), share);
      auto const [first, count] = checkpoint_folder::part_of(result_.parameters.size(), r, result_.ranks, memory_);
      auto const numbers = std::span(result_.parameters).subspan(first, count);
      part.read(section::parameters, numbers);
      part.read(section::statistics, statistics.subspan(share * r, share));
      for (std::size_t i = 0; i != sums.size(); ++i) {
        sums[i] += double{numbers[i]};
      }
    }
    for (std::size_t i = 0; i != sums.size(); ++i) {
      result_.parameters[i] = static_cast<float>(sums[i] / result_.ranks);
    }
  }

  checkpoint_names const& names_;
  section_file file_;
  std::vector<file_identity> identities_;  ///< by rank: its part
  rank_memory memory_ = rank_memory::statistics;
  saved_training result_;
};

}  // namespace detail

TUTTI_DECL saved_training read_checkpoint(std::filesystem::path const& folder) {
  detail::checkpoint_names const names(folder);
  std::vector<std::string> notes;
  for (std::uint64_t const step : names.steps()) {
    try {
      auto result = detail::checkpoint_reader(names, step).take();
      result.notes = std::move(notes);
      return result;
    } catch (damaged_checkpoint const& e) {
      notes.emplace_back(e.what());
    } catch (other_format const& e) {
      notes.emplace_back(e.what());
    }
  }
  std::string text = "no checkpoint in " + folder.string() + " is good";
  for (auto const& note : notes) {
    text += "; " + note;
  }
  throw checkpoint_error(text + (notes.empty() ? ": there is none; give the folder of a training's checkpoints" : ""));
}

}  // namespace tutti::nn
