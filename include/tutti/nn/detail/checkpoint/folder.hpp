// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/checkpoint/fingerprint.hpp>
#include <tutti/nn/checkpoint/history_text.hpp>
#include <tutti/nn/checkpoint/state.hpp>
#include <tutti/nn/detail/checkpoint/format.hpp>
#include <tutti/nn/detail/checkpoint/views.hpp>
#include <tutti/nn/strategy/concept.hpp>
#include <tutti/types.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::nn::detail {

/// What a checkpoint has to be for a training to go on from it.
struct expected_state {
  fingerprint training;
  std::size_t parameters = 0;
  std::size_t optimizer = 0;
  std::size_t statistics = 0;  ///< of each rank
  rank_type ranks = 1;
  rank_memory memory = rank_memory::none;
  batch_plan plan;
  std::size_t epochs = 0;
};

[[nodiscard]] inline expected_state expected_of(replica& model, fingerprint training,
                                                rank_memory memory = rank_memory::none) {
  training.add("parameters", model.parameters().size());
  return {std::move(training),
          model.parameters().size(),
          model.optimizer_state().size(),
          model.statistics().size(),
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
  /// @param keep the last so many checkpoints stay, the others are removed
  /// @throws checkpoint_error
  explicit checkpoint_folder(std::filesystem::path where, std::size_t keep = 2)
      : where_(std::move(where)), keep_(std::max(keep, std::size_t{1})) {
    std::error_code why;
    std::filesystem::create_directories(where_, why);
    if (why || !std::filesystem::is_directory(where_, why)) {
      throw checkpoint_error("checkpoints cannot be kept in " + where_.string() + ": " +
                             (why ? why.message() : "it is no folder"));
    }
    atomic_file const probe(where_ / "checkpoint-probe");
  }

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return where_; }

  /// After how many steps there are checkpoints, the latest first, good or not.
  [[nodiscard]] std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> result;
    std::error_code why;
    for (std::filesystem::directory_iterator at(where_, why), end; !why && at != end; at.increment(why)) {
      auto const found = parse(at->path().filename().string());
      if (found && found->kind == suffix) {
        result.push_back(found->step);
      }
    }
    if (why) {
      throw checkpoint_error("the folder " + where_.string() + " cannot be read: " + why.message());
    }
    std::ranges::sort(result, std::greater());
    return result;
  }

  /// Writes all of a state as one file.
  /// @throws checkpoint_error; then all is as it was before
  void write(std::uint64_t step, state_view const& state, std::string const& training) {
    auto const place = words_of(state.place, state.ranks, rank_memory::none);
    section_bytes const parts[] = {{section::fingerprint, as_bytes(training)},
                                   {section::place, std::as_bytes(std::span(place))},
                                   {section::parameters, std::as_bytes(state.parameters)},
                                   {section::optimizer, std::as_bytes(state.optimizer)},
                                   {section::statistics, std::as_bytes(state.statistics)},
                                   {section::history, as_bytes(state.history)}};
    write_sections(name(step), parts);
    prune();
  }

  /// Writes a rank's part: of the parameters and of what the optimizer remembers its block, or all if they are its own.
  /// @throws checkpoint_error
  file_identity write_shard(std::uint64_t step, rank_type rank, rank_type ranks, part_view const& part,
                            rank_memory memory) const {
    auto const own = [&](std::span<float const> all) {
      auto const [first, count] = part_of(all.size(), rank, ranks, memory);
      return std::as_bytes(all.subspan(first, count));
    };
    section_bytes const parts[] = {{section::parameters, own(part.parameters)},
                                   {section::optimizer, own(part.optimizer)},
                                   {section::statistics, std::as_bytes(part.statistics)},
                                   {section::strategy, as_bytes(part.strategy)}};
    return write_sections(shard_name(step, rank, ranks), parts);
  }

  /// Reads the part of one of so many ranks.
  /// @param belonging what the file that makes a checkpoint of the parts says of this one
  /// @throws damaged_checkpoint
  [[nodiscard]] training_part read_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                         file_identity const& belonging, expected_state const& expected) const {
    section_file const shard(shard_name(step, rank, ranks));
    if (shard.identity() != belonging) {
      shard.damaged("does not belong to " + name(step).string());
    }
    training_part result;
    auto const numbers = [&](section id, std::vector<float>& to, std::size_t count) {
      shard.require_size<float>(id, count);
      to.resize(count);
      shard.read(id, std::span(to));
    };
    numbers(section::parameters, result.parameters, part_of(expected.parameters, rank, ranks, expected.memory).count);
    numbers(section::optimizer, result.optimizer, part_of(expected.optimizer, rank, ranks, expected.memory).count);
    numbers(section::statistics, result.statistics, expected.statistics);
    result.strategy = shard.read_text(section::strategy, belonging.length);
    return result;
  }

  /// Writes what makes one checkpoint of all ranks' parts, which are on the disk.
  /// @throws checkpoint_error; then all is as it was before, but that there are parts that are never read
  void write_manifest(std::uint64_t step, training_place const& at, std::string const& history,
                      std::span<file_identity const> shards, std::string const& training, rank_memory memory) {
    auto const place = words_of(at, static_cast<rank_type>(shards.size()), memory);
    std::vector<std::uint64_t> table;
    for (auto const& one : shards) {
      table.push_back(one.length);
      table.push_back(one.checksum);
    }
    section_bytes const parts[] = {{section::fingerprint, as_bytes(training)},
                                   {section::place, std::as_bytes(std::span(place))},
                                   {section::history, as_bytes(history)},
                                   {section::shards, std::as_bytes(std::span(table))}};
    write_sections(name(step), parts);
    prune();
  }

  struct loaded {
    training_state state;
    std::uint64_t step = 0;
    std::vector<file_identity> parts;  ///< if each rank wrote one
    std::vector<std::string> notes;    ///< what is wrong with later ones, which were set aside
  };

  /// The latest good checkpoint if it is to be resumed from; nothing if there is none at all.
  /// @throws checkpoint_error as `load_last_good`; if there are some, and it is not to be resumed
  [[nodiscard]] std::optional<loaded> begin(bool resume, expected_state const& expected) {
    if (resume) {
      return load_last_good(expected);
    }
    if (auto const all = steps(); !all.empty()) {
      throw checkpoint_error(where_.string() + " holds checkpoints of a training, the last after " +
                             std::to_string(all.front()) + " steps: resume it (--resume), or choose another folder");
    }
    return std::nullopt;
  }

  /// The latest checkpoint that is good; nothing if there is none at all. Later ones that are damaged, or of a format
  /// that is not known here, are renamed, to "...damaged" or "...other-format", so that they are not among those that
  /// are kept. Where each rank has a replica of its own, the state has none of them, but all parts have been read and
  /// are good.
  /// @throws checkpoint_error if none is good; if the latest that is readable is of another training, or holds what
  /// each
  ///         of another number of ranks remembers
  [[nodiscard]] std::optional<loaded> load_last_good(expected_state const& expected) {
    loaded result;
    std::vector<std::pair<std::filesystem::path, char const*>> aside;
    auto const leave_out = [&](std::uint64_t step, checkpoint_error const& why, char const* ending) {
      result.notes.emplace_back(why.what());
      aside.emplace_back(name(step), ending);
    };
    for (std::uint64_t const step : steps()) {
      try {
        load(step, expected, result);
      } catch (damaged_checkpoint const& e) {
        leave_out(step, e, ".damaged");
        continue;
      } catch (other_format const& e) {
        leave_out(step, e, ".other-format");
        continue;
      }
      for (auto const& [file, ending] : aside) {
        std::error_code ignored;  // a folder that cannot be written to will say so when it has to be
        std::filesystem::rename(file, file.string() + ending, ignored);
      }
      return result;
    }
    if (aside.empty()) {
      return std::nullopt;
    }
    std::string text = "no checkpoint in " + where_.string() + " is good";
    for (auto const& note : result.notes) {
      text += "; " + note;
    }
    throw checkpoint_error(text);
  }

 private:
  static constexpr std::string_view prefix = "checkpoint-";
  static constexpr std::string_view suffix = ".tutti";
  static constexpr std::size_t digits = 12;

  struct parsed_name {
    std::uint64_t step;
    std::string_view kind;  // what follows the number
  };

  static std::optional<parsed_name> parse(std::string const& text) {
    std::string_view const all = text;
    if (all.size() <= prefix.size() + digits || !all.starts_with(prefix)) {
      return std::nullopt;
    }
    parsed_name result{0, {}};
    char const* const first = all.data() + prefix.size();
    if (auto const [end, problem] = std::from_chars(first, first + digits, result.step);
        problem != std::errc{} || end != first + digits) {
      return std::nullopt;
    }
    std::string_view const kind = all.substr(prefix.size() + digits);
    result.kind = kind == suffix ? suffix : kind.find("-of-") != kind.npos ? std::string_view("-of-") : "";
    return result;
  }

  [[nodiscard]] std::string stem(std::uint64_t step) const {
    std::string number = std::to_string(step);
    number.insert(0, digits - std::min(digits, number.size()), '0');
    return (where_ / prefix).string() + number;
  }
  [[nodiscard]] std::filesystem::path name(std::uint64_t step) const { return stem(step).append(suffix); }
  [[nodiscard]] std::filesystem::path shard_name(std::uint64_t step, rank_type rank, rank_type ranks) const {
    return stem(step) + '.' + std::to_string(rank) + "-of-" + std::to_string(ranks);
  }

  static std::span<std::byte const> as_bytes(std::string const& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::array<std::uint64_t, 4> words_of(training_place const& at, rank_type ranks, rank_memory memory) {
    return {at.epoch, at.batch, ranks, static_cast<std::uint64_t>(memory)};
  }

  struct block {
    std::size_t first;
    std::size_t count;
  };
  /// Which of so many numbers are in a rank's part.
  static block part_of(std::size_t all, rank_type rank, rank_type ranks, rank_memory memory) {
    return memory == rank_memory::replica ? block{0, all}
                                          : block{block_begin(all, ranks, rank), block_size(all, ranks, rank)};
  }

  void load(std::uint64_t step, expected_state const& expected, loaded& to) const {
    section_file const file(name(step));
    constexpr std::uint64_t longest_fingerprint = 1U << 20;
    auto const different = expected.training.differences(file.read_text(section::fingerprint, longest_fingerprint));
    if (!different.empty()) {
      throw checkpoint_error(file.name() + " is of another training: " + different +
                             "; ask for the same, or use another folder");
    }
    training_state result;
    std::array<std::uint64_t, 4> place{};
    file.read(section::place, std::span<std::uint64_t>(place));
    result.place = {static_cast<std::size_t>(place[0]), static_cast<std::size_t>(place[1])};
    constexpr std::uint64_t most_ranks = 1U << 20;
    bool const within = place[0] < expected.epochs ? place[1] <= expected.plan.batches(result.place.epoch)
                                                   : place[0] == expected.epochs && place[1] == 0;
    if (!within || place[2] == 0 || place[2] > most_ranks) {
      file.damaged("is damaged: there is no such place in the training");
    }
    result.ranks = static_cast<rank_type>(place[2]);
    if (place[3] != static_cast<std::uint64_t>(expected.memory)) {
      throw checkpoint_error(file.name() + " is of another strategy; ask for the same, or use another folder");
    }
    if (expected.memory != rank_memory::none && result.ranks != expected.ranks) {
      throw checkpoint_error(file.name() + " holds what each of " + std::to_string(result.ranks) +
                             " ranks remembers by itself: start as many, not " + std::to_string(expected.ranks));
    }
    constexpr std::uint64_t gone = 4096;  // so many more ranks may there have been before faults
    result.history = file.read_text(
        section::history, most_history_bytes(expected.plan.steps(), expected.epochs, result.ranks + gone, gone));
    std::vector<file_identity> parts;
    if (file.has(section::shards)) {
      parts = parts_named(file, result.ranks);
      load_shards(step, parts, expected, result);
    } else {
      result.parameters.resize(expected.parameters);
      result.optimizer.resize(expected.optimizer);
      file.read(section::parameters, std::span(result.parameters));
      file.read(section::optimizer, std::span(result.optimizer));
      file.require_size<float>(section::statistics, std::uint64_t{expected.statistics} * result.ranks);
      result.statistics.resize(expected.statistics * result.ranks);
      file.read(section::statistics, std::span(result.statistics));
    }
    to.state = std::move(result);
    to.step = step;
    to.parts = std::move(parts);
  }

  static std::vector<file_identity> parts_named(section_file const& manifest, rank_type ranks) {
    manifest.require_size<std::uint64_t>(section::shards, std::uint64_t{2} * ranks);
    std::vector<std::uint64_t> table(std::size_t{2} * ranks);
    manifest.read(section::shards, std::span(table));
    std::vector<file_identity> parts(ranks);
    for (std::size_t r = 0; r != ranks; ++r) {
      parts[r] = {table[2 * r], static_cast<std::uint32_t>(table[2 * r + 1])};
    }
    return parts;
  }

  void load_shards(std::uint64_t step, std::span<file_identity const> parts, expected_state const& expected,
                   training_state& to) const {
    for (rank_type r = 0; r != to.ranks; ++r) {
      auto const part = read_shard(step, r, to.ranks, parts[r], expected);
      if (expected.memory != rank_memory::replica) {
        to.parameters.insert(to.parameters.end(), part.parameters.begin(), part.parameters.end());
        to.optimizer.insert(to.optimizer.end(), part.optimizer.begin(), part.optimizer.end());
        to.statistics.insert(to.statistics.end(), part.statistics.begin(), part.statistics.end());
      }
    }
  }

  /// Removes what is older than those to keep: first what makes a checkpoint of it, then its parts. Also parts that
  /// never became one. What cannot be removed stays; that is no reason to fail.
  void prune() const {
    auto const all = steps();
    std::uint64_t const oldest = all.empty() ? 0 : all[std::min(keep_, all.size()) - 1];
    std::error_code ignored;
    for (std::uint64_t const step : all) {
      if (step < oldest) {
        std::filesystem::remove(name(step), ignored);
      }
    }
    std::vector<std::filesystem::path> parts;
    for (std::filesystem::directory_iterator at(where_, ignored), end; !ignored && at != end; at.increment(ignored)) {
      auto const found = parse(at->path().filename().string());
      if (found && found->kind == "-of-" && found->step < oldest) {
        parts.push_back(at->path());
      }
    }
    for (auto const& part : parts) {
      std::filesystem::remove(part, ignored);
    }
  }

  std::filesystem::path where_;
  std::size_t keep_;
};

}  // namespace tutti::nn::detail
