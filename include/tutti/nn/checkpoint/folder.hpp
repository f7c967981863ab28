// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>
#include <tutti/nn/checkpoint/fingerprint.hpp>
#include <tutti/nn/checkpoint/format.hpp>
#include <tutti/nn/checkpoint/history_text.hpp>
#include <tutti/nn/checkpoint/state.hpp>

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

namespace tutti::nn {

/// What a checkpoint has to be for a training to go on from it.
struct expected_state {
  fingerprint training;
  std::size_t parameters = 0;
  std::size_t optimizer = 0;
  std::size_t statistics = 0;  ///< of each rank
  batch_plan plan;
  std::size_t epochs = 0;
};

[[nodiscard]] inline expected_state expected_of(replica& model, fingerprint training) {
  training.add("parameters", model.parameters().size());
  return {std::move(training), model.parameters().size(), model.optimizer_state().size(), model.statistics().size(),
          model.plan(),        model.asked().epochs};
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
    auto const place = words_of(state.place, state.ranks);
    section_bytes const parts[] = {{section::fingerprint, as_bytes(training)},
                                   {section::place, std::as_bytes(std::span(place))},
                                   {section::parameters, std::as_bytes(state.parameters)},
                                   {section::optimizer, std::as_bytes(state.optimizer)},
                                   {section::statistics, std::as_bytes(state.statistics)},
                                   {section::history, as_bytes(state.history)}};
    write_sections(name(step), parts);
    prune();
  }

  /// Writes a rank's part: its block of the parameters and of what the optimizer remembers, and its own statistics.
  /// @throws checkpoint_error
  file_identity write_shard(std::uint64_t step, rank_type rank, rank_type ranks, std::span<float const> parameters,
                            std::span<float const> optimizer, std::span<float const> statistics) const {
    auto const block = [&](std::span<float const> all) {
      return std::as_bytes(all.subspan(block_begin(all.size(), ranks, rank), block_size(all.size(), ranks, rank)));
    };
    section_bytes const parts[] = {{section::parameters, block(parameters)},
                                   {section::optimizer, block(optimizer)},
                                   {section::statistics, std::as_bytes(statistics)}};
    return write_sections(shard_name(step, rank, ranks), parts);
  }

  /// Writes what makes one checkpoint of all ranks' parts, which are on the disk.
  /// @throws checkpoint_error; then all is as it was before, but that there are parts that nobody reads
  void write_manifest(std::uint64_t step, training_place const& at, std::string const& history,
                      std::span<file_identity const> shards, std::string const& training) {
    auto const place = words_of(at, static_cast<rank_type>(shards.size()));
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
    std::vector<std::string> notes;  ///< what is wrong with later ones, which were set aside
  };

  /// The latest checkpoint that is good; nothing if there is none at all. Later ones that are damaged are renamed,
  /// to "...damaged", so that they are not among those that are kept.
  /// @throws checkpoint_error if all are damaged; if the latest that is not is of another training
  [[nodiscard]] std::optional<loaded> load_last_good(expected_state const& wanted) {
    loaded result;
    std::vector<std::uint64_t> damaged;
    for (std::uint64_t const step : steps()) {
      try {
        result.state = load(name(step), step, wanted);
      } catch (damaged_checkpoint const& e) {
        result.notes.emplace_back(e.what());
        damaged.push_back(step);
        continue;
      }
      for (std::uint64_t const one : damaged) {
        std::error_code ignored;  // a folder that cannot be written to will say so when it has to be
        std::filesystem::rename(name(one), name(one).string() + ".damaged", ignored);
      }
      return result;
    }
    if (damaged.empty()) {
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
  static std::array<std::uint64_t, 3> words_of(training_place const& at, rank_type ranks) {
    return {at.epoch, at.batch, ranks};
  }

  [[nodiscard]] training_state load(std::filesystem::path const& from, std::uint64_t step,
                                    expected_state const& wanted) const {
    section_file const file(from);
    constexpr std::uint64_t longest_fingerprint = 1U << 20;
    auto const different = wanted.training.differences(file.read_text(section::fingerprint, longest_fingerprint));
    if (!different.empty()) {
      throw checkpoint_error(file.name() + " is of another training: " + different +
                             "; ask for the same, or use another folder");
    }
    training_state result;
    std::array<std::uint64_t, 3> place{};
    file.read(section::place, std::span<std::uint64_t>(place));
    result.place = {static_cast<std::size_t>(place[0]), static_cast<std::size_t>(place[1])};
    constexpr std::uint64_t most_ranks = 1U << 20;
    bool const within = place[0] < wanted.epochs ? place[1] <= wanted.plan.batches(result.place.epoch)
                                                 : place[0] == wanted.epochs && place[1] == 0;
    if (!within || place[2] == 0 || place[2] > most_ranks) {
      file.damaged("is damaged: there is no such place in the training");
    }
    result.ranks = static_cast<rank_type>(place[2]);
    constexpr std::uint64_t gone = 4096;  // so many more ranks may there have been before faults
    result.history =
        file.read_text(section::history, most_history_bytes(wanted.plan.steps(), wanted.epochs, result.ranks + gone));
    result.parameters.resize(wanted.parameters);
    result.optimizer.resize(wanted.optimizer);
    if (file.has(section::shards)) {
      load_shards(file, step, wanted.statistics, result);
    } else {
      file.read(section::parameters, std::span(result.parameters));
      file.read(section::optimizer, std::span(result.optimizer));
      file.require_size<float>(section::statistics, std::uint64_t{wanted.statistics} * result.ranks);
      result.statistics.resize(wanted.statistics * result.ranks);
      file.read(section::statistics, std::span(result.statistics));
    }
    return result;
  }

  void load_shards(section_file const& manifest, std::uint64_t step, std::size_t statistics, training_state& to) const {
    manifest.require_size<std::uint64_t>(section::shards, std::uint64_t{2} * to.ranks);
    std::vector<std::uint64_t> table(std::size_t{2} * to.ranks);
    manifest.read(section::shards, std::span(table));
    auto const block = [&](std::vector<float>& all, rank_type r) {
      return std::span(all).subspan(block_begin(all.size(), to.ranks, r), block_size(all.size(), to.ranks, r));
    };
    for (rank_type r = 0; r != to.ranks; ++r) {
      section_file const shard(shard_name(step, r, to.ranks));
      if (shard.identity().length != table[2 * r] || shard.identity().checksum != table[2 * r + 1]) {
        shard.damaged("does not belong to " + manifest.name());
      }
      shard.read(section::parameters, block(to.parameters, r));
      shard.read(section::optimizer, block(to.optimizer, r));
      to.statistics.resize(to.statistics.size() + statistics);
      shard.read(section::statistics, std::span(to.statistics).last(statistics));
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

}  // namespace tutti::nn
