// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The names in a folder of checkpoints: `checkpoint-000000001200.tutti` is one after 1200 steps, and
/// `checkpoint-000000001200.2-of-4` the part of it that rank 2 of 4 wrote.
class checkpoint_names {
 public:
  /// A draft is the file of a write that has not ended, or never will.
  enum class file_kind { whole, part, draft, other };

  struct parsed_name {
    std::uint64_t step;
    file_kind kind;
  };

  explicit checkpoint_names(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::filesystem::path const& folder() const noexcept { return folder_; }

  [[nodiscard]] std::filesystem::path whole(std::uint64_t step) const { return stem(step).append(suffix); }
  /// The file that is locked, and names the training to which the folder belongs.
  [[nodiscard]] std::filesystem::path lock() const { return folder_ / "checkpoint-lock"; }
  [[nodiscard]] std::filesystem::path part(std::uint64_t step, rank_type rank, rank_type ranks) const;

  /// The steps of all checkpoints, intact or not, latest first.
  /// @throws checkpoint_error
  [[nodiscard]] std::vector<std::uint64_t> steps() const;

  /// Parses the name of a file; returns nothing if it is not that of a checkpoint.
  [[nodiscard]] static std::optional<parsed_name> parse(std::string const& name);

 private:
  static constexpr std::string_view prefix = "checkpoint-";
  static constexpr std::string_view suffix = ".tutti";
  static constexpr std::size_t digits = 12;

  [[nodiscard]] std::string stem(std::uint64_t step) const;
  /// True for an ending such as ".2-of-16".
  [[nodiscard]] static bool is_part(std::string_view ending);

  std::filesystem::path folder_;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/names.ipp>
#endif
