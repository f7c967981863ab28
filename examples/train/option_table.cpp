// SPDX-License-Identifier: Apache-2.0
#include "option_table.hpp"

#include <sstream>

namespace {

/// The words of "step or growing_batch", or of "none, fp16 or bf16".
std::vector<std::string> words_of(std::string const& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (word != "or") {
      words.push_back(word.back() == ',' ? word.substr(0, word.size() - 1) : word);
    }
  }
  return words;
}

/// The value of an option as a text.
std::string text_of(CLI::Option const& option) {
  return option.count() == 0 ? option.get_default_str() : CLI::detail::join(option.reduced_results(), ",");
}

bool has_value(CLI::Option const& option, std::vector<std::string> const& values) {
  return std::ranges::find(values, text_of(option)) != values.end();
}

option_row const& row_of(std::vector<option_group> const& groups, std::string const& name) {
  for (auto const& group : groups) {
    if (auto const row = std::ranges::find(group.rows, name, &option_row::name); row != group.rows.end()) {
      return *row;
    }
  }
  throw std::logic_error("no row has the option " + name + "; correct the name in a condition");
}

void check(CLI::App const& app, std::vector<option_group> const& groups, option_row const& row,
           option_condition const& condition) {
  if (!condition.values.empty() && !has_value(*app.get_option(row.name), words_of(condition.values))) {
    return;
  }
  auto const end_of_name = std::min(condition.other.find(' '), condition.other.size());
  auto const& other = row_of(groups, condition.other.substr(0, end_of_name));
  auto const& option = *app.get_option(other.name);
  auto const values = words_of(condition.other.substr(end_of_name));
  if ((values.empty() ? is_in_use(app, other) : has_value(option, values)) != condition.is_exclusion) {
    return;
  }
  auto sentence = condition.values.empty() ? "" : text_of(*app.get_option(row.name)) + " ";
  sentence += (condition.is_exclusion ? "cannot be used with " : "needs ") + condition.other;
  if (!condition.is_exclusion && !values.empty() && !text_of(option).empty()) {
    sentence += ", not " + text_of(option);
  }
  throw CLI::ValidationError(row.name, sentence + condition.remark);
}

/// Breaks a text into lines that follow a margin.
std::string wrap(std::string const& text, std::size_t margin, std::size_t width) {
  std::string result;
  std::size_t column = margin;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (column != margin && column + 1 + word.size() > width) {
      result.append("\n").append(margin, ' ');
      column = margin;
    }
    result += (column == margin ? "" : " ") + word;
    column += word.size() + (column == margin ? 0 : 1);
  }
  return result;
}

}  // namespace

void add_options(CLI::App& app, std::vector<option_group> const& groups) {
  for (auto const& group : groups) {
    for (auto const& row : group.rows) {
      row.value.add(app, row.name);
    }
  }
}

bool is_in_use(CLI::App const& app, option_row const& row) {
  auto const& option = *app.get_option(row.name);
  return option.count() != 0 && text_of(option) != (row.value.placeholder.empty() ? "false" : row.idle);
}

void check_conditions(CLI::App const& app, std::vector<option_group> const& groups) {
  for (auto const& group : groups) {
    for (auto const& row : group.rows) {
      for (std::size_t i = 0; i != row.conditions.size() && is_in_use(app, row); ++i) {
        check(app, groups, row, row.conditions[i]);
      }
    }
  }
}

std::string compatible_lines(CLI::App const& app, std::vector<option_group> const& groups, std::string const& lines) {
  std::vector<std::string> exclusions;
  for (auto const& group : groups) {
    for (auto const& row : group.rows) {
      for (auto const& condition : row.conditions) {
        if (condition.is_exclusion && is_in_use(app, row)) {
          exclusions.push_back(condition.other);
        }
      }
    }
  }
  std::string result;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    if (std::ranges::find(exclusions, "--" + line.substr(0, line.find('='))) == exclusions.end()) {
      result += line + "\n";
    }
  }
  return result;
}

std::string lines_in_common(CLI::App const& app, std::vector<option_group> const& groups) {
  std::string result;
  std::istringstream stream(app.config_to_str(true, false));
  for (std::string line; std::getline(stream, line);) {
    if (!row_of(groups, "--" + line.substr(0, line.find('='))).value.is_local) {
      result += line + "\n";
    }
  }
  return result;
}

std::string describe(CLI::App const& app, option_row const& row) {
  constexpr std::size_t margin = 27;
  constexpr std::size_t width = 98;
  std::vector<std::string> notes;
  for (auto const& condition : row.conditions) {
    if (!condition.is_exclusion && condition.values.empty()) {
      notes.push_back("needs " + condition.other);
    }
  }
  if (!row.value.range.empty()) {
    notes.push_back(row.value.range);
  }
  if (auto const initial = app.get_option(row.name)->get_default_str(); !initial.empty() && initial != "false") {
    notes.push_back("default " + initial);
  }
  auto const left = "  " + row.name + (row.value.placeholder.empty() ? "" : " " + row.value.placeholder);
  return left + (left.size() + 1 < margin ? std::string(margin - left.size(), ' ') : "\n" + std::string(margin, ' ')) +
         wrap(row.help + (notes.empty() ? "" : " (" + CLI::detail::join(notes, "; ") + ")"), margin, width) + "\n";
}

std::string describe(CLI::App const& app, option_group const& group) {
  std::string result = group.name + ": " + group.summary + "\n";
  for (auto const& row : group.rows) {
    result += describe(app, row);
  }
  return result;
}
