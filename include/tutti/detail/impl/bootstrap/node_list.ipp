// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/node_list.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL bool parse_node_list(std::string_view text, std::vector<std::string>& to, std::size_t most) {
  auto const number = [](std::string_view digits, std::size_t& value) {
    value = 0;
    for (char const c : digits) {
      if (c < '0' || c > '9') {
        return false;
      }
      value = value * 10 + static_cast<std::size_t>(c - '0');
    }
    return !digits.empty() && digits.size() <= 9;
  };
  to.clear();
  std::vector<std::string> names{""};  // those that the name at hand stands for, as far as it is read
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || text[at] == ',') {
      for (std::string& n : names) {
        if (n.empty()) {
          return false;
        }
        to.push_back(std::move(n));
      }
      names.assign(1, "");
    } else if (text[at] == '[') {
      auto const close = text.find(']', at);
      if (close == text.npos) {
        return false;
      }
      std::vector<std::string> grown;
      for (std::string_view rest = text.substr(at + 1, close - at - 1);;) {
        auto const comma = rest.find(',');
        std::string_view const part = rest.substr(0, comma);
        auto const dash = part.find('-');
        std::string_view const low = part.substr(0, dash);
        std::size_t first = 0;
        std::size_t last = 0;
        if (!number(low, first) || !number(dash == part.npos ? low : part.substr(dash + 1), last) || last < first ||
            last - first >= most) {
          return false;
        }
        for (std::size_t i = first; i <= last; ++i) {
          std::string digits = std::to_string(i);
          if (digits.size() < low.size()) {
            digits.insert(0, low.size() - digits.size(), '0');
          }
          for (std::string const& n : names) {
            grown.push_back(n + digits);
          }
        }
        if (grown.size() + to.size() > most) {
          return false;
        }
        if (comma == rest.npos) {
          break;
        }
        rest.remove_prefix(comma + 1);
      }
      names = std::move(grown);
      at = close;
    } else if (text[at] == ']' || text[at] == ' ') {
      return false;
    } else {
      for (std::string& n : names) {
        n += text[at];
      }
    }
  }
  return true;
}

}  // namespace tutti::detail
