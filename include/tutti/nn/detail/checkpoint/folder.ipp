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
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

TUTTI_DECL std::string expected_state::batches_before(training_position const& place) const {
  std::string result;
  std::size_t previous = 0;
  for (std::size_t epoch = 0; epoch != place.epoch + (place.batch != 0 ? 1 : 0); ++epoch) {
    if (std::size_t const size = plan.size(epoch); std::exchange(previous, size) != size) {
      result.append(result.empty() ? "" : ", ").append(std::to_string(size)).append(" from epoch ");
      result += std::to_string(epoch + 1);
    }
  }
  return result;
}

TUTTI_DECL checkpoint_folder::checkpoint_folder(std::filesystem::path folder, std::size_t keep, std::string model)
    : names_(std::move(folder)), keep_((std::max)(keep, std::size_t{1})), model_(std::move(model)) {
  std::error_code code;
  std::filesystem::create_directories(names_.folder(), code);
  if (code || !std::filesystem::is_directory(names_.folder(), code)) {
    throw checkpoint_error("checkpoints cannot be kept in " + names_.folder().string() + ": " +
                           (code ? code.message() : "it is not a folder") + "; choose another folder");
  }
  atomic_file const probe(names_.folder() / "checkpoint-probe");
}

TUTTI_DECL void checkpoint_folder::expect_owner() const {
  auto const owner = folder_lock::read(names_.lock());
  if (owner != owner_) {
    throw checkpoint_error("the folder " + names_.folder().string() +
                           (owner ? " now belongs to another training, and nothing is written to it; resume into "
                                    "another folder"
                                  : " has no file checkpoint-lock of this training; use a folder that all ranks "
                                    "see, and leave that file in it"));
  }
}

TUTTI_DECL bool checkpoint_folder::make_room() {
  if (steps().size() < 2) {
    return false;
  }
  prune(1);
  if (!std::exchange(has_made_room_, true)) {
    notes_.push_back("there is no room for another checkpoint in " + names_.folder().string() +
                     ": only the latest one stays until the next is complete; make room there");
  }
  return true;
}

TUTTI_DECL void checkpoint_folder::write_whole(std::uint64_t step, std::span<section_bytes const> parts) {
  expect_owner();
  try {
    write_sections(names_.whole(step), parts);
  } catch (full_disk const&) {
    if (!make_room()) {
      throw;
    }
    write_sections(names_.whole(step), parts);
  }
  prune(keep_);
}

TUTTI_DECL void checkpoint_folder::write(std::uint64_t step, state_view const& state, expected_state const& training) {
  auto const place = words_of(state.place, state.ranks, rank_memory::statistics);
  std::string const batches = training.batches_before(state.place);
  section_bytes const parts[] = {{section::fingerprint, as_bytes(training.training.text())},
                                 {section::identity, std::as_bytes(std::span(owner_.training))},
                                 {section::batches, as_bytes(batches)},
                                 {section::model, as_bytes(model_)},
                                 {section::place, std::as_bytes(std::span(place))},
                                 {section::parameters, std::as_bytes(state.parameters)},
                                 {section::optimizer, std::as_bytes(state.optimizer)},
                                 {section::statistics, std::as_bytes(state.statistics)},
                                 {section::history, as_bytes(state.history)}};
  write_whole(step, parts);
}

TUTTI_DECL file_identity checkpoint_folder::write_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                                        part_view const& part, rank_memory memory) const {
  auto const local_block = [&](std::span<float const> numbers) {
    auto const [first, count] = part_of(numbers.size(), rank, ranks, memory);
    return std::as_bytes(numbers.subspan(first, count));
  };
  section_bytes const parts[] = {{section::identity, std::as_bytes(std::span(owner_.training))},
                                 {section::parameters, local_block(part.parameters)},
                                 {section::optimizer, local_block(part.optimizer)},
                                 {section::statistics, std::as_bytes(part.statistics)},
                                 {section::strategy, as_bytes(part.strategy)}};
  expect_owner();
  return write_sections(names_.part(step, rank, ranks), parts);
}

TUTTI_DECL training_part checkpoint_folder::read_shard(std::uint64_t step, rank_type rank, rank_type ranks,
                                                       file_identity const& expected_identity,
                                                       expected_state const& expected) const {
  section_file const shard(names_.part(step, rank, ranks));
  if (shard.identity() != expected_identity) {
    shard.fail("does not belong to " + names_.whole(step).string());
  }
  training_part result;
  std::array<std::uint64_t, 2> identity{};  // the manifest's, as the checksum above covers it
  shard.read(section::identity, std::span<std::uint64_t>(identity));
  auto const numbers = [&](section id, std::vector<float>& destination, std::size_t count) {
    shard.require_size<float>(id, count);
    destination.resize(count);
    shard.read(id, std::span(destination));
  };
  numbers(section::parameters, result.parameters, part_of(expected.parameters, rank, ranks, expected.memory).count);
  numbers(section::optimizer, result.optimizer, part_of(expected.optimizer, rank, ranks, expected.memory).count);
  numbers(section::statistics, result.statistics, expected.statistics);
  result.strategy = shard.read_text(section::strategy, expected_identity.length);
  return result;
}

TUTTI_DECL void checkpoint_folder::write_manifest(std::uint64_t step, training_position const& position,
                                                  std::string const& history, std::span<file_identity const> shards,
                                                  expected_state const& training) {
  auto const place = words_of(position, static_cast<rank_type>(shards.size()), training.memory);
  std::string const batches = training.batches_before(position);
  std::vector<std::uint64_t> table;
  for (auto const& shard : shards) {
    table.push_back(shard.length);
    table.push_back(shard.checksum);
  }
  section_bytes const parts[] = {{section::fingerprint, as_bytes(training.training.text())},
                                 {section::identity, std::as_bytes(std::span(owner_.training))},
                                 {section::batches, as_bytes(batches)},
                                 {section::model, as_bytes(model_)},
                                 {section::place, std::as_bytes(std::span(place))},
                                 {section::history, as_bytes(history)},
                                 {section::shards, std::as_bytes(std::span(table))}};
  write_whole(step, parts);
}

TUTTI_DECL std::optional<checkpoint_folder::loaded_checkpoint> checkpoint_folder::begin(
    bool resume, expected_state const& expected) {
  lock_.emplace(names_.lock());
  if (!lock_->is_held()) {
    throw checkpoint_error(names_.folder().string() + " is in use by another training, " + lock_->holder() +
                           ": wait for its end, stop it, or choose another folder");
  }
  remove_drafts();
  std::optional<loaded_checkpoint> last;
  if (resume) {
    last = load_last_good(expected);
  } else if (auto const checkpoint_steps = steps(); !checkpoint_steps.empty()) {
    throw checkpoint_error(names_.folder().string() + " holds checkpoints of a training, the last after " +
                           std::to_string(checkpoint_steps.front()) +
                           " steps: resume it (--resume), or choose another folder");
  }
  owner_ = folder_owner::draw(last ? std::optional(last->identity) : std::nullopt);
  lock_->write(owner_);
  return last;
}

TUTTI_DECL void checkpoint_folder::take_over() {
  lock_.emplace(names_.lock());
  auto const previous_owner = folder_lock::read(names_.lock());
  owner_ = folder_owner::draw(previous_owner ? std::optional(previous_owner->training) : std::nullopt);
  lock_->write(owner_);
}

TUTTI_DECL void checkpoint_folder::remove_drafts() const {
  std::vector<std::filesystem::path> drafts;
  std::error_code ignored_error;
  tutti::detail::standard_numbers const reserved_numbers;
  for (std::filesystem::directory_iterator entry(names_.folder(), ignored_error), end; !ignored_error && entry != end;
       entry.increment(ignored_error)) {
    auto const name = checkpoint_names::parse(entry->path().filename().string());
    if (name && name->kind == checkpoint_names::file_kind::draft) {
      drafts.push_back(entry->path());
    }
  }
  for (auto const& draft : drafts) {
    std::filesystem::remove(draft, ignored_error);
  }
}

TUTTI_DECL std::optional<checkpoint_folder::loaded_checkpoint> checkpoint_folder::load_last_good(
    expected_state const& expected) {
  loaded_checkpoint result;
  std::vector<std::string> defects;
  std::vector<std::pair<std::filesystem::path, char const*>> unusable;
  auto const leave_out = [&](std::uint64_t step, checkpoint_error const& error, char const* ending) {
    defects.emplace_back(error.what());
    unusable.emplace_back(names_.whole(step), ending);
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
    for (auto const& [file, ending] : unusable) {
      std::error_code ignored_error;  // errors are ignored; an unwritable folder fails at the next write
      std::filesystem::rename(file, file.string() + ending, ignored_error);
    }
    for (auto const& defect : defects) {
      notes_.push_back(defect + "; the checkpoint before it is used");
    }
    return result;
  }
  if (unusable.empty()) {
    return std::nullopt;
  }
  std::string text = "no checkpoint in " + names_.folder().string() + " is good";
  for (auto const& defect : defects) {
    text += "; " + defect;
  }
  throw checkpoint_error(text + "; choose another folder to begin again");
}

TUTTI_DECL std::span<std::byte const> checkpoint_folder::as_bytes(std::string const& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TUTTI_DECL std::array<std::uint64_t, 4> checkpoint_folder::words_of(training_position const& position, rank_type ranks,
                                                                    rank_memory memory) {
  return {position.epoch, position.batch, ranks, static_cast<std::uint64_t>(memory)};
}

TUTTI_DECL checkpoint_folder::block checkpoint_folder::part_of(std::size_t count, rank_type rank, rank_type ranks,
                                                               rank_memory memory) {
  return memory == rank_memory::replica ? block{0, count}
                                        : block{block_begin(count, ranks, rank), block_size(count, ranks, rank)};
}

TUTTI_DECL void checkpoint_folder::load(std::uint64_t step, expected_state const& expected,
                                        loaded_checkpoint& output) const {
  section_file const file(names_.whole(step));
  constexpr std::uint64_t longest_fingerprint = 1U << 20;
  auto const training = file.read_text(section::fingerprint, longest_fingerprint);
  auto const different = expected.training.differences(training);
  if (!different.empty()) {
    throw checkpoint_error(file.name() + " is of another training: " + different +
                           "; ask for the same, or use another folder");
  }
  file.read(section::identity, std::span<std::uint64_t>(output.identity));
  training_state result;
  std::array<std::uint64_t, 4> place{};
  file.read(section::place, std::span<std::uint64_t>(place));
  result.place = {tutti::detail::integer_cast<std::size_t>(place[0]),
                  tutti::detail::integer_cast<std::size_t>(place[1])};
  if (place[0] > expected.epochs) {
    throw checkpoint_error(file.name() + " is the state after " + std::to_string(place[0]) +
                           " epochs, and the training is to have " + std::to_string(expected.epochs) +
                           ": ask for as many epochs at least, or use another folder");
  }
  auto const batches = file.read_text(section::batches, longest_fingerprint);
  if (auto const own_batches = expected.batches_before(result.place); own_batches != batches) {
    throw checkpoint_error(file.name() + " has used batches of " + batches + ", and the training would have used " +
                           own_batches + ": change the schedule of batches only for later epochs");
  }
  constexpr std::uint64_t max_ranks = 1U << 20;
  bool const is_valid_place = place[0] < expected.epochs ? place[1] <= expected.plan.batches(result.place.epoch)
                                                         : place[0] == expected.epochs && place[1] == 0;
  if (!is_valid_place || place[2] == 0 || place[2] > max_ranks) {
    file.fail("is damaged: the training has no epoch " + std::to_string(place[0]) + ", batch " +
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
  constexpr std::uint64_t max_lost_ranks = 4096;  // limit on ranks lost in faults
  result.history = file.read_text(section::history, history_bytes(history::max_steps, expected.epochs,
                                                                  result.ranks + max_lost_ranks, max_lost_ranks));
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
  output.state = std::move(result);
  output.step = step;
  output.parts = std::move(parts);
  output.changes = expected.training.changes(training);
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
                                               expected_state const& expected, training_state& state) const {
  for (rank_type r = 0; r != state.ranks; ++r) {
    auto const part = read_shard(step, r, state.ranks, parts[r], expected);
    if (expected.memory != rank_memory::replica) {
      state.parameters.insert(state.parameters.end(), part.parameters.begin(), part.parameters.end());
      state.optimizer.insert(state.optimizer.end(), part.optimizer.begin(), part.optimizer.end());
      state.statistics.insert(state.statistics.end(), part.statistics.begin(), part.statistics.end());
    }
  }
}

TUTTI_DECL void checkpoint_folder::prune(std::size_t keep) const {
  auto const checkpoint_steps = steps();
  std::uint64_t const oldest =
      checkpoint_steps.empty() ? 0 : checkpoint_steps[(std::min)(keep, checkpoint_steps.size()) - 1];
  std::error_code ignored_error;
  for (std::uint64_t const step : checkpoint_steps) {
    if (step < oldest) {
      std::filesystem::remove(names_.whole(step), ignored_error);
    }
  }
  std::vector<std::filesystem::path> parts;
  tutti::detail::standard_numbers const reserved_numbers;
  for (std::filesystem::directory_iterator entry(names_.folder(), ignored_error), end; !ignored_error && entry != end;
       entry.increment(ignored_error)) {
    auto const name = checkpoint_names::parse(entry->path().filename().string());
    if (name && name->kind == checkpoint_names::file_kind::part && name->step < oldest) {
      parts.push_back(entry->path());
    }
  }
  for (auto const& part : parts) {
    std::filesystem::remove(part, ignored_error);
  }
}

}  // namespace tutti::nn::detail::checkpoint
