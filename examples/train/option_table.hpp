// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../tools/common/real_range.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The place of an option's value, with its check. The functions below make them.
struct option_value {
  std::function<CLI::Option*(CLI::App&, std::string const& name)> add;
  std::string placeholder;  ///< stands for the value in help; empty for a flag
  std::string range;        ///< the valid values, for help; empty: any
  bool is_local = false;    ///< true: ranks of a launcher may differ
};

/// A condition of an option on another one.
struct option_condition {
  bool is_exclusion = false;
  std::string other;   ///< "--gpu", or with values "--compress top_k or threshold"
  std::string remark;  ///< the rest of the sentence, with its punctuation mark
  std::string values;  ///< the condition is for these values of the option, such as "step or growing_batch"; empty: all
};

/// An option of the command line. Conditions apply to an option that is in use: given, and not with the idle value.
struct option_row {
  std::string name;
  option_value value;
  std::string help;
  std::vector<option_condition> conditions{};
  std::string idle{};  ///< a value that asks for nothing, such as "none"
};

/// Options that are shown together.
struct option_group {
  std::string name;
  std::string summary;
  std::vector<option_row> rows;
};

/// The option needs another one: to be in use, or to have one of the values.
inline option_condition needs(std::string other, std::string remark = "") {
  return {false, std::move(other), std::move(remark), ""};
}

/// The option cannot be used with another one, or with some of its values.
inline option_condition not_with(std::string other, std::string remark = "") {
  return {true, std::move(other), std::move(remark), ""};
}

/// The condition, for some values of the option only.
inline option_condition if_is(std::string values, option_condition condition) {
  condition.values = std::move(values);
  return condition;
}

/// The value, which may differ between the ranks of a launcher.
inline option_value local(option_value value) {
  value.is_local = true;
  return value;
}

/// Reads whole numbers and words. The initial value is the default if it is valid; otherwise there is none.
template <class T>
option_value scalar(T& target, CLI::Validator const& check, std::string placeholder, std::string range) {
  auto const add = [&target, check](CLI::App& app, std::string const& name) {
    auto* const option = app.add_option(name, target)->check(check);
    option->capture_default_str();
    auto initial = option->get_default_str();
    return check(initial).empty() ? option : option->default_str("");
  };
  return {add, std::move(placeholder), std::move(range)};
}

/// A whole number.
template <std::integral Number>
option_value integer(Number& target, std::type_identity_t<Number> low, std::type_identity_t<Number> high) {
  bool const is_any = high == std::numeric_limits<Number>::max();
  return scalar(target, CLI::Range(low, high), "N", is_any ? "" : std::to_string(low) + " to " + std::to_string(high));
}

/// A real number. Its range is finite, so it is neither NaN nor infinite.
template <std::floating_point Number>
option_value real(Number& target, double low, double high) {
  auto const check = real_range(low, high);
  auto range = check.get_description();  // "[low - high]"
  range = range.substr(range.find('[') + 1);
  range.replace(range.find(" - "), 3, " to ").pop_back();
  return scalar(target, check, "X", range);
}

/// One of some words or numbers.
template <class T>
option_value one_of(T& target, std::initializer_list<std::type_identity_t<T>> choices) {
  std::vector<T> const list(choices);
  return scalar(target, CLI::IsMember(list), std::is_same_v<T, std::string> ? "WORD" : "N",
                CLI::detail::join(list, ", "));
}

/// One of the values of an enumeration, by name.
template <class Kind>
  requires std::is_enum_v<Kind>
option_value one_of(Kind& target, std::initializer_list<std::type_identity_t<Kind>> choices) {
  std::vector<std::pair<std::string, Kind>> list;
  std::vector<std::string> words;
  for (Kind const kind : choices) {
    list.emplace_back(name(kind), kind);
    words.emplace_back(name(kind));
  }
  auto const add = [&target, list, words](CLI::App& app, std::string const& option_name) {
    auto const read = [&target, list](std::string const& word) {
      target = std::ranges::find(list, word, &std::pair<std::string, Kind>::first)->second;
    };
    return app.add_option_function<std::string>(option_name, read)
        ->check(CLI::IsMember(words))
        ->default_str(std::string(name(target)));
  };
  return {add, "WORD", CLI::detail::join(words, ", ")};
}

/// True if the option is given.
inline option_value flag(bool& target) {
  return {[&target](CLI::App& app, std::string const& name) { return app.add_flag(name, target); }, "", ""};
}

/// Any text, such as the name of a file.
template <class Text>
option_value text(Text& target, std::string placeholder) {
  auto const add = [&target](CLI::App& app, std::string const& name) {
    return app.add_option_function<std::string>(name, [&target](std::string const& t) { target = t; })
        ->default_str(std::string(target));
  };
  return {add, std::move(placeholder), ""};
}

/// A value that a function reads from a text, which may have several parts with commas between.
/// @param read throws std::invalid_argument, which says what the text must be
template <class Target>
option_value custom(Target& target, void (*read)(std::string const& text, Target& target), std::string placeholder,
                    std::string initial = "") {
  auto const add = [&target, read, initial](CLI::App& app, std::string const& name) {
    auto const read_parts = [&target, read, name](std::vector<std::string> const& parts) {
      try {
        read(CLI::detail::join(parts, ","), target);
      } catch (std::invalid_argument const& e) {
        throw CLI::ValidationError(name, e.what());
      }
    };
    return app.add_option_function<std::vector<std::string>>(name, read_parts)
        ->allow_extra_args(false)
        ->default_str(initial);
  };
  return {add, std::move(placeholder), ""};
}

/// Adds the options of all groups to the parser.
void add_options(CLI::App& app, std::vector<option_group> const& groups);

/// True if the option is given, with another value than its idle one.
bool is_in_use(CLI::App const& app, option_row const& row);

/// Checks the conditions of all options in use.
/// @throws CLI::ValidationError with a sentence about the first that does not hold
void check_conditions(CLI::App const& app, std::vector<option_group> const& groups);

/// The lines of options that exclude nothing that is in use.
/// @param lines the text of a configuration file
std::string compatible_lines(CLI::App const& app, std::vector<option_group> const& groups, std::string const& lines);

/// The options that all ranks of a launcher must have in common, a line each.
std::string lines_in_common(CLI::App const& app, std::vector<option_group> const& groups);

/// Describes an option, for help.
std::string describe(CLI::App const& app, option_row const& row);
/// Describes the options of a group.
std::string describe(CLI::App const& app, option_group const& group);
