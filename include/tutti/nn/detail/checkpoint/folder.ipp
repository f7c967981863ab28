// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

TUTTI_DECL checkpoint_folder::checkpoint_folder(std::filesystem::path where, std::size_t keep)
    : names_(std::move(where)), keep_((std::max)(keep, std::size_t{1})) {
  std::error_code why;
  std::filesystem::create_directories(names_.folder(), why);
  if (why || !std::filesystem::is_directory(names_.folder(), why)) {
    throw checkpoint_error("checkpoints cannot be kept in " + names_.folder().string() + ": " +
                           (why ? why.message() : "it is not a folder") + "; choose another folder");
  }
  atomic_file const probe(names_.folder() / "checkpoint-probe");
}

TUTTI_DECL std::vector<std::uint64_t> checkpoint_folder::steps() const {
  std::vector<std::uint64_t> result;
  std::error_code why;
  tutti::detail::standard_numbers const occupied;
  for (std::filesystem::directory_iterator at(names_.folder(), why), end; !why && at != end; at.increment(why)) {
    auto const found = checkpoint_names::parse(at->path().filename().string());
    if (found && found->what == checkpoint_names::kind::whole) {
      result.push_back(found->step);
    }
  }
  if (why) {
    throw checkpoint_error("the folder " + names_.folder().string() + " cannot be read: " + why.message());
  }
  std::ranges::sort(result, std::greater());
  return result;
}

TUTTI_DECL void checkpoint_folder::write(std::uint64_t step, state_view const& state, std::string const& training) {
  auto const place = words_of(state.place, state.ranks, rank_memory::statistics);
  section_bytes const parts[] = {{section::fingerprint, as_bytes(training)},
                                 {section::place, std::as_bytes(std::span(place))},
                                 {section::parameters, std::as_bytes(state.parameters)},
                                 {section::optimizer, std::as_bytes(state.optimizer)},
                                 {section::statistics, std::as_bytes(state.statistics)},
                                 {section::history, as_bytes(state.history)}};
  write_sections(names_.whole(step), parts);
  prune();
}

TUTTI_DECL file_identity checkpoint_folder::write_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                                        part_view const& part, rank_memory memory) const {
  auto const own = [&](std::span<float const> all) {
    auto const [first, count] = part_of(all.size(), rank, ranks, memory);
    return std::as_bytes(all.subspan(first, count));
  };
  section_bytes const parts[] = {{section::parameters, own(part.parameters)},
                                 {section::optimizer, own(part.optimizer)},
                                 {section::statistics, std::as_bytes(part.statistics)},
                                 {section::strategy, as_bytes(part.strategy)}};
  return write_sections(names_.part(step, rank, ranks), parts);
}

TUTTI_DECL training_part checkpoint_folder::read_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                                       file_identity const& belonging,
                                                       expected_state const& expected) const {
  section_file const shard(names_.part(step, rank, ranks));
  if (shard.identity() != belonging) {
    shard.damaged("does not belong to " + names_.whole(step).string());
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

TUTTI_DECL void checkpoint_folder::write_manifest(std::uint64_t step, training_position const& at,
                                                  std::string const& history, std::span<file_identity const> shards,
                                                  std::string const& training, rank_memory memory) {
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
  write_sections(names_.whole(step), parts);
  prune();
}

TUTTI_DECL std::optional<checkpoint_folder::loaded> checkpoint_folder::begin(bool resume,
                                                                             expected_state const& expected) {
  if (resume) {
    return load_last_good(expected);
  }
  if (auto const all = steps(); !all.empty()) {
    throw checkpoint_error(names_.folder().string() + " holds checkpoints of a training, the last after " +
                           std::to_string(all.front()) + " steps: resume it (--resume), or choose another folder");
  }
  return std::nullopt;
}

TUTTI_DECL std::optional<checkpoint_folder::loaded> checkpoint_folder::load_last_good(expected_state const& expected) {
  loaded result;
  std::vector<std::pair<std::filesystem::path, char const*>> aside;
  auto const leave_out = [&](std::uint64_t step, checkpoint_error const& why, char const* ending) {
    result.notes.emplace_back(why.what());
    aside.emplace_back(names_.whole(step), ending);
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
      std::error_code ignored;  // errors are ignored; an unwritable folder fails at the next write
      std::filesystem::rename(file, file.string() + ending, ignored);
    }
    return result;
  }
  if (aside.empty()) {
    return std::nullopt;
  }
  std::string text = "no checkpoint in " + names_.folder().string() + " is good";
  for (auto const& note : result.notes) {
    text += "; " + note;
  }
  throw checkpoint_error(text + "; choose another folder to begin again");
}

TUTTI_DECL std::span<std::byte const> checkpoint_folder::as_bytes(std::string const& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TUTTI_DECL std::array<std::uint64_t, 4> checkpoint_folder::words_of(training_position const& at, rank_type ranks,
                                                                    rank_memory memory) {
  return {at.epoch, at.batch, ranks, static_cast<std::uint64_t>(memory)};
}

TUTTI_DECL checkpoint_folder::block checkpoint_folder::part_of(std::size_t all, rank_type rank, rank_type ranks,
                                                               rank_memory memory) {
  return memory == rank_memory::replica ? block{0, all}
                                        : block{block_begin(all, ranks, rank), block_size(all, ranks, rank)};
}

TUTTI_DECL void checkpoint_folder::load(std::uint64_t step, expected_state const& expected, loaded& to) const {
  section_file const file(names_.whole(step));
  constexpr std::uint64_t longest_fingerprint = 1U << 20;
  auto const different = expected.training.differences(file.read_text(section::fingerprint, longest_fingerprint));
  if (!different.empty()) {
    throw checkpoint_error(file.name() + " is of another training: " + different +
                           "; ask for the same, or use another folder");
  }
  training_state result;
  std::array<std::uint64_t, 4> place{};
  file.read(section::place, std::span<std::uint64_t>(place));
  result.place = {tutti::detail::integer_cast<std::size_t>(place[0]),
                  tutti::detail::integer_cast<std::size_t>(place[1])};
  constexpr std::uint64_t most_ranks = 1U << 20;
  bool const within = place[0] < expected.epochs ? place[1] <= expected.plan.batches(result.place.epoch)
                                                 : place[0] == expected.epochs && place[1] == 0;
  if (!within || place[2] == 0 || place[2] > most_ranks) {
    file.damaged("is damaged: the training has no epoch " + std::to_string(place[0]) + ", batch " +
                 std::to_string(place[1]) + ", of " + std::to_string(place[2]) + " ranks");
  }
  result.ranks = static_cast<rank_type>(place[2]);
  if (place[3] != static_cast<std::uint64_t>(expected.memory)) {
    throw checkpoint_error(file.name() + " is of another strategy; ask for the same, or use another folder");
  }
  if (expected.memory != rank_memory::statistics && result.ranks != expected.ranks) {
    throw checkpoint_error(file.name() + " holds the state of each of " + std::to_string(result.ranks) +
                           " ranks: start as many, not " + std::to_string(expected.ranks));
  }
  constexpr std::uint64_t gone = 4096;  // limit on ranks lost in faults
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

TUTTI_DECL std::vector<file_identity> checkpoint_folder::parts_named(section_file const& manifest, rank_type ranks) {
  manifest.require_size<std::uint64_t>(section::shards, std::uint64_t{2} * ranks);
  std::vector<std::uint64_t> table(std::size_t{2} * ranks);
  manifest.read(section::shards, std::span(table));
  std::vector<file_identity> parts(ranks);
  for (std::size_t r = 0; r != ranks; ++r) {
    parts[r] = {table[2 * r], static_cast<std::uint32_t>(table[2 * r + 1])};
  }
  return parts;
}

TUTTI_DECL void checkpoint_folder::load_shards(std::uint64_t step, std::span<file_identity const> parts,
                                               expected_state const& expected, training_state& to) const {
  for (rank_type r = 0; r != to.ranks; ++r) {
    auto const part = read_shard(step, r, to.ranks, parts[r], expected);
    if (expected.memory != rank_memory::replica) {
      to.parameters.insert(to.parameters.end(), part.parameters.begin(), part.parameters.end());
      to.optimizer.insert(to.optimizer.end(), part.optimizer.begin(), part.optimizer.end());
      to.statistics.insert(to.statistics.end(), part.statistics.begin(), part.statistics.end());
    }
  }
}

TUTTI_DECL void checkpoint_folder::prune() const {
  auto const all = steps();
  std::uint64_t const oldest = all.empty() ? 0 : all[(std::min)(keep_, all.size()) - 1];
  std::error_code ignored;
  for (std::uint64_t const step : all) {
    if (step < oldest) {
      std::filesystem::remove(names_.whole(step), ignored);
    }
  }
  std::vector<std::filesystem::path> parts;
  tutti::detail::standard_numbers const occupied;
  for (std::filesystem::directory_iterator at(names_.folder(), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    auto const found = checkpoint_names::parse(at->path().filename().string());
    if (found && found->what == checkpoint_names::kind::part && found->step < oldest) {
      parts.push_back(at->path());
    }
  }
  for (auto const& part : parts) {
    std::filesystem::remove(part, ignored);
  }
}

}  // namespace tutti::nn::detail::checkpoint
