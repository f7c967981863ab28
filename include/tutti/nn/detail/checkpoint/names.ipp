// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>
#include <tutti/nn/detail/checkpoint/atomic_file.hpp>
#include <tutti/nn/detail/checkpoint/names.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

TUTTI_DECL std::filesystem::path checkpoint_names::part(std::uint64_t step, rank_type rank, rank_type ranks) const {
  return stem(step) + '.' + std::to_string(rank) + "-of-" + std::to_string(ranks);
}

TUTTI_DECL std::optional<checkpoint_names::parsed_name> checkpoint_names::parse(std::string const& name) {
  std::string_view const text = name;
  if (text.size() <= prefix.size() + digits || !text.starts_with(prefix)) {
    return std::nullopt;
  }
  parsed_name result{0, file_kind::other};
  char const* const first = text.data() + prefix.size();
  if (auto const [end, problem] = std::from_chars(first, first + digits, result.step);
      problem != std::errc{} || end != first + digits) {
    return std::nullopt;
  }
  std::string_view const rest = text.substr(prefix.size() + digits);
  if (rest == suffix) {
    result.kind = file_kind::whole;
  } else if (is_part(rest)) {
    result.kind = file_kind::part;
  } else if (rest.ends_with(atomic_file::draft_ending)) {
    std::string_view const ending = rest.substr(0, rest.size() - atomic_file::draft_ending.size());
    result.kind = ending == suffix || is_part(ending) ? file_kind::draft : file_kind::other;
  }
  return result;
}

TUTTI_DECL std::vector<std::uint64_t> checkpoint_names::steps() const {
  std::vector<std::uint64_t> result;
  std::error_code code;
  tutti::detail::standard_numbers const reserved_numbers;
  for (std::filesystem::directory_iterator entry(folder_, code), end; !code && entry != end; entry.increment(code)) {
    auto const name = parse(entry->path().filename().string());
    if (name && name->kind == file_kind::whole) {
      result.push_back(name->step);
    }
  }
  if (code) {
    throw checkpoint_error("the folder " + folder_.string() + " cannot be read: " + code.message());
  }
  std::ranges::sort(result, std::greater());
  return result;
}

TUTTI_DECL bool checkpoint_names::is_part(std::string_view ending) {
  constexpr std::string_view separator = "-of-";
  auto const is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  std::size_t const at = ending.find(separator);
  return at != ending.npos && at != 0 && ending.front() == '.' && is_number(ending.substr(1, at - 1)) &&
         is_number(ending.substr(at + separator.size()));
}

TUTTI_DECL std::string checkpoint_names::stem(std::uint64_t step) const {
  std::string number = std::to_string(step);
  number.insert(0, digits - (std::min)(digits, number.size()), '0');
  return (folder_ / prefix).string() + number;
}

}  // namespace tutti::nn::detail::checkpoint
