// SPDX-License-Identifier: Apache-2.0
#include "option_readers.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

/// Reads a text of decimal digits alone. False for any other text.
template <std::unsigned_integral Number>
bool read_digits(std::string_view text, Number& number) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

/// Reads a real number within a range.
bool read_real(std::string const& text, double low, double high, double& number) {
  return CLI::detail::lexical_cast(text, number) && number >= low && number <= high;
}

/// The parts between commas; one more than there are commas.
std::vector<std::string> parts_of(std::string const& text) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Reads the rank of "RANK:REST". False if there is none.
bool read_rank(std::string const& text, std::uint32_t& rank, std::string& rest) {
  auto const colon = text.find(':');
  rest = colon == text.npos ? "" : text.substr(colon + 1);
  return colon != text.npos && read_digits(std::string_view(text).substr(0, colon), rank);
}

/// @throws std::invalid_argument if an entry names the rank already
template <class Entry>
void add_once(std::vector<Entry>& entries, Entry const& entry) {
  if (std::ranges::find(entries, entry.rank, &Entry::rank) != entries.end()) {
    throw std::invalid_argument("names rank " + std::to_string(entry.rank) + " twice");
  }
  entries.push_back(entry);
}

[[noreturn]] void refuse(std::string const& expected, std::string const& text) {
  throw std::invalid_argument("must be " + expected + ", not \"" + text + "\"");
}

}  // namespace

void read_hidden(std::string const& text, std::vector<std::size_t>& sizes) {
  sizes.clear();
  if (text == "none") {
    return;
  }
  for (auto const& part : parts_of(text)) {
    if (!read_digits(part, sizes.emplace_back()) || sizes.back() == 0 || sizes.back() > 100'000) {
      refuse("the sizes of the hidden layers, such as 256,128, each from 1 to 100000, or none", text);
    }
  }
}

void read_changes(std::string const& text, std::vector<std::size_t>& epochs) {
  epochs.clear();
  for (auto const& part : parts_of(text)) {
    std::size_t const previous = epochs.empty() ? 0 : epochs.back();
    if (!read_digits(part, epochs.emplace_back()) || epochs.back() <= previous) {
      refuse("growing numbers of epochs, such as 30,60,80", text);
    }
  }
}

void read_staleness(std::string const& text, std::uint64_t& steps) {
  if (text == "unbounded") {
    steps = strategy_choice::no_bound;
  } else if (!read_digits(text, steps)) {
    refuse("a number of steps, or with parameter_server unbounded", text);
  }
}

void read_deaths(std::string const& text, std::vector<fault_options::death>& deaths) {
  deaths.clear();
  for (auto const& part : parts_of(text)) {
    fault_options::death death;
    std::string step;
    if (!read_rank(part, death.rank, step) || !read_digits(step, death.step) || death.step == 0) {
      refuse("RANK:STEP, such as 1:1170", part);
    }
    add_once(deaths, death);
  }
}

void read_slow(std::string const& text, speeds& target) {
  target.slow.clear();
  target.max_random_factor = 1;
  bool has_random = false;
  for (auto const& part : parts_of(text)) {
    speeds::slow_rank entry;
    std::string factor;
    bool const is_random = part.starts_with("random:");
    bool const is_entry = read_rank(part, entry.rank, factor) || is_random;
    if (!is_entry || !read_real(factor, 1, 1000, entry.factor)) {
      refuse("RANK:FACTOR, such as 2:4, or random:FACTOR, with a factor from 1 to 1000", part);
    }
    if (!is_random) {
      add_once(target.slow, entry);
    } else if (std::exchange(has_random, true)) {
      throw std::invalid_argument("must have random:FACTOR only once");
    } else {
      target.max_random_factor = entry.factor;
    }
  }
}

void read_pretend(std::string const& text, speeds& target) {
  bool const is_rate = text.ends_with("/s");
  double number = 0;
  if (!read_real(is_rate ? text.substr(0, text.size() - 2) : text, 1e-6, 1e6, number)) {
    refuse("seconds, such as 0.2, or images a second, such as 154/s, from a millionth to a million", text);
  }
  target.seconds = is_rate ? 0 : number;
  target.images_a_second = is_rate ? number : 0;
}

void read_gpus(std::string const& text, gpu_options& target) {
  target.on_all_ranks = text == "all";
  target.gpu_ranks.clear();
  for (auto const& part : target.on_all_ranks ? std::vector<std::string>{} : parts_of(text)) {
    gpu_options::gpu_rank entry;
    std::string card;
    std::uint32_t number = 0;
    if (read_rank(part, entry.rank, card) && read_digits(card, number)) {
      entry.gpu_index = number;
    } else if (!read_digits(part, entry.rank)) {
      refuse("all, or RANK[:CARD],..., such as 1,3:0", part);
    }
    add_once(target.gpu_ranks, entry);
  }
}
