// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/node_list.hpp>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// A reader of the names in a list of nodes.
struct node_list_text {
  [[nodiscard]] static bool number(std::string_view digits, std::size_t& value) noexcept {
    value = 0;
    for (char const c : digits) {
      if (c < '0' || c > '9') {
        return false;
      }
      value = value * 10 + static_cast<std::size_t>(c - '0');
    }
    return !digits.empty() && digits.size() <= 9;
  }

  /// The number of values that the text between two brackets stands for, at most `limit + 1`; 0 if it is malformed.
  [[nodiscard]] static std::size_t count_numbers(std::string_view text, std::size_t limit) noexcept {
    std::size_t count = 0;
    for (;;) {
      auto const comma = text.find(',');
      std::string_view const part = text.substr(0, comma);
      auto const dash = part.find('-');
      std::string_view const low = part.substr(0, dash);
      std::size_t first = 0;
      std::size_t last = 0;
      if (!number(low, first) || !number(dash == part.npos ? low : part.substr(dash + 1), last) || last < first) {
        return 0;
      }
      count = (std::min)(count + (last - first + 1), limit + 1);
      if (comma == text.npos) {
        return count;
      }
      text.remove_prefix(comma + 1);
    }
  }
};

TUTTI_DECL std::optional<std::string> first_node(std::string_view text, std::size_t limit) {
  std::optional<std::string> first;
  std::string name;         // the first name of the current entry, as far as it is read
  std::size_t count = 1;    // names in the current entry
  std::size_t earlier = 0;  // names in earlier entries
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || text[at] == ',') {
      earlier += count;
      if (name.empty() || earlier > limit) {
        return std::nullopt;
      }
      first = first ? first : name;
      name.clear();
      count = 1;
    } else if (text[at] == '[') {
      auto const close = text.find(']', at);
      if (close == text.npos) {
        return std::nullopt;
      }
      std::string_view const numbers = text.substr(at + 1, close - at - 1);
      std::size_t const bracket_count = node_list_text::count_numbers(numbers, limit);
      count *= bracket_count;
      if (bracket_count == 0 || count > limit) {
        return std::nullopt;
      }
      name += numbers.substr(0, numbers.find_first_of(",-"));
      at = close;
    } else if (text[at] == ']' || text[at] == ' ') {
      return std::nullopt;
    } else {
      name += text[at];
    }
  }
  return first;
}

}  // namespace tutti::detail::bootstrap
