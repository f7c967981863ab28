// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "numbers.hpp"

#include <cstddef>
#include <initializer_list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// Words of the form name=value, from a command line or from the line of a command.
class settings {
 public:
  settings() = default;
  explicit settings(std::string const& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      add(word);
    }
  }

  /// @throws std::runtime_error if the word is no name=value
  void add(std::string const& word) {
    std::size_t const equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw std::runtime_error("\"" + word + "\" is not of the form name=value");
    }
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }

  [[nodiscard]] bool has(std::string const& name) const { return values_.contains(name); }

  [[nodiscard]] std::string text(std::string const& name, std::string const& otherwise) const {
    auto const entry = values_.find(name);
    return entry == values_.end() ? otherwise : entry->second;
  }

  /// @throws std::runtime_error if the value is no whole number
  [[nodiscard]] std::size_t number(std::string const& name, std::size_t otherwise) const {
    auto const entry = values_.find(name);
    return entry == values_.end() ? otherwise : whole(name, entry->second);
  }

  /// The one of `names` that the setting has as its value; the first if it is not set.
  /// @throws std::runtime_error if the value is another
  [[nodiscard]] std::string_view one_of(std::string const& name, std::initializer_list<std::string_view> names) const {
    std::string const value = text(name, std::string(*names.begin()));
    std::string choices;
    for (std::string_view const n : names) {
      if (n == value) {
        return n;
      }
      choices.append(" ").append(n);
    }
    throw std::runtime_error(name + "=" + value + ": expected one of" + choices);
  }

  /// All settings by name.
  [[nodiscard]] std::map<std::string, std::string> const& values() const noexcept { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace bench
