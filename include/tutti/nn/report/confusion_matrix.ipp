// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/detail/report/plot_panel.hpp>
#include <tutti/nn/report/confusion_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::uint64_t confusion_matrix::images(std::size_t label) const {
  auto const row = std::span(counts_).subspan(index(label, 0), classes_);
  return std::accumulate(row.begin(), row.end(), std::uint64_t{0});
}

TUTTI_DECL std::uint64_t confusion_matrix::images() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

TUTTI_DECL double confusion_matrix::accuracy() const {
  std::uint64_t correct = 0;
  for (std::size_t c = 0; c != classes_; ++c) {
    correct += count(c, c);
  }
  return share(correct, images());
}

TUTTI_DECL std::vector<confusion_matrix::confusion> confusion_matrix::worst(std::size_t limit) const {
  std::vector<confusion> result;
  for (std::size_t label = 0; label != classes_; ++label) {
    for (std::size_t answer = 0; answer != classes_; ++answer) {
      if (label != answer && count(label, answer) != 0) {
        result.push_back({label, answer, count(label, answer)});
      }
    }
  }
  std::ranges::stable_sort(result, std::greater(), &confusion::images);
  result.resize((std::min)(limit, result.size()));
  return result;
}

namespace detail {

/// A class's name, shortened to this many letters; its number if it has no name. A letter of UTF-8 is not divided.
[[nodiscard]] inline std::string short_name(std::span<std::string const> names, std::size_t number, std::size_t limit) {
  std::string name = names.empty() ? std::to_string(number) : names[number];
  auto const begins_letter = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  std::size_t letters = 0;
  for (std::size_t i = 0; i != name.size(); ++i) {
    letters += begins_letter(name[i]) ? 1U : 0U;
    if (letters > limit) {
      name.resize(i);
      letters = limit;
      break;
    }
  }
  for (char& c : name) {
    c = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  }
  return name;
}

/// The number of letters of a text in UTF-8.
[[nodiscard]] inline std::size_t letters_of(std::string const& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

[[nodiscard]] inline std::string pad(std::string const& text, std::size_t width, bool to_the_right) {
  std::string const spaces(width - (std::min)(width, letters_of(text)), ' ');
  return to_the_right ? spaces + text : text + spaces;
}

[[nodiscard]] inline std::string percent(double share) {
  return tutti::detail::fixed_text(100 * share, 1) + " %";
}

}  // namespace detail

TUTTI_DECL std::string to_text(confusion_matrix const& matrix, std::span<std::string const> names,
                               std::size_t columns) {
  expects(names.empty() || names.size() == matrix.classes(), "to_text: there are ", matrix.classes(), " classes and ",
          names.size(), " names; give a name for each class, or none");
  constexpr std::size_t longest_name = 16;
  constexpr std::size_t longest_list = 20;  // classes and confusions that a report without a matrix shows
  std::size_t const classes = matrix.classes();
  std::size_t name_width = 5;
  std::size_t cell_width = 4;
  for (std::size_t c = 0; c != classes; ++c) {
    name_width = (std::max)(name_width, detail::letters_of(detail::short_name(names, c, longest_name)));
    cell_width = (std::max)(cell_width, std::to_string(matrix.images(c)).size());
  }
  bool const fits = name_width + 18 + classes * (cell_width + 1) <= columns;
  std::vector<std::size_t> rows(classes);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (!fits && classes > longest_list) {
    std::ranges::stable_sort(rows, {}, [&](std::size_t c) { return matrix.accuracy(c); });
    rows.resize(longest_list);
  }
  std::string text = "accuracy " + detail::percent(matrix.accuracy()) + " of " + std::to_string(matrix.images()) +
                     " images\n\n" + detail::pad("class", name_width, false) + "  images  accuracy";
  for (std::size_t c = 0; fits && c != classes; ++c) {
    text += ' ' + detail::pad(detail::short_name(names, c, cell_width), cell_width, true);
  }
  text += rows.size() == classes ? "\n" : "  (the lowest of " + std::to_string(classes) + " classes)\n";
  for (std::size_t const label : rows) {
    text += detail::pad(detail::short_name(names, label, longest_name), name_width, false) +
            detail::pad(std::to_string(matrix.images(label)), 8, true) +
            detail::pad(matrix.images(label) == 0 ? "-" : detail::percent(matrix.accuracy(label)), 10, true);
    for (std::size_t c = 0; fits && c != classes; ++c) {
      text += ' ' + detail::pad(std::to_string(matrix.count(label, c)), cell_width, true);
    }
    text += '\n';
  }
  auto const confusions = matrix.worst(fits ? 0 : longest_list);
  text += confusions.empty() ? "" : "\nmost frequent confusions\n";
  for (auto const& [label, answer, images] : confusions) {
    text += detail::pad(std::to_string(images), 8, true) + "  " + detail::short_name(names, label, longest_name) +
            " as " + detail::short_name(names, answer, longest_name) + '\n';
  }
  return text;
}

TUTTI_DECL std::string plot_svg(confusion_matrix const& matrix, std::span<std::string const> names,
                                std::string const& title) {
  expects(names.empty() || names.size() == matrix.classes(), "plot_svg: there are ", matrix.classes(), " classes and ",
          names.size(), " names; give a name for each class, or none");
  using tutti::detail::fixed_text;
  constexpr std::size_t longest_name = 16;
  constexpr double line_height = 14;
  std::size_t const classes = matrix.classes();
  std::size_t longest = 0;
  for (std::size_t i = 0; i != classes; ++i) {
    longest = (std::max)(longest, detail::letters_of(detail::short_name(names, i, longest_name)));
  }
  double const name_length = 7.2 * static_cast<double>(longest);
  double const left = 40 + name_length;
  double const top = 64 + 0.87 * name_length;  // above it, names are drawn at an angle
  double const side = (std::clamp)(600.0 / static_cast<double>(classes), 3.0, 48.0);
  double const end = side * static_cast<double>(classes);
  auto const text = [](double x, double y, std::string const& attributes, std::string const& words) {
    return "<text x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" " + attributes + ">" +
           detail::escape(words) + "</text>\n";
  };
  std::string body = text(left + end / 2, top + end + 22, "text-anchor=\"middle\"",
                          "rows: true classes, columns: predicted classes; squares: share of the row");
  auto const labels_every = static_cast<std::size_t>(line_height / side) + 1;
  for (std::size_t i = 0; i != classes; ++i) {
    double const at = side * static_cast<double>(i);
    if (i % labels_every == 0) {
      auto const name = detail::short_name(names, i, longest_name);
      body += text(left - 6, top + at + side / 2 + 4, "text-anchor=\"end\"", name);
      double const x = left + at + side / 2 + 4;
      body +=
          text(x, top - 6, "transform=\"rotate(-60 " + fixed_text(x, 1) + " " + fixed_text(top - 6, 1) + ")\"", name);
    }
    for (std::size_t j = 0; j != classes; ++j) {
      if (auto const count = matrix.count(i, j); count != 0) {
        double const share = static_cast<double>(count) / static_cast<double>(matrix.images(i));
        double const x = left + side * static_cast<double>(j);
        auto const length = fixed_text(side, 2);
        body += "<rect x=\"" + fixed_text(x, 2) + "\" y=\"" + fixed_text(top + at, 2) + "\" width=\"" + length +
                "\" height=\"" + length + "\" fill=\"#2f6fb3\" fill-opacity=\"" + fixed_text(0.12 + 0.88 * share, 2) +
                "\"/>\n";
        auto const number = std::to_string(count);
        if (side >= 7.5 * static_cast<double>(number.size()) && side >= line_height) {
          body += text(x + side / 2, top + at + side / 2 + 4,
                       share > 0.5 ? "text-anchor=\"middle\" fill=\"white\"" : "text-anchor=\"middle\"", number);
        }
      }
    }
  }
  body += "<rect x=\"" + fixed_text(left, 1) + "\" y=\"" + fixed_text(top, 1) + "\" width=\"" + fixed_text(end, 1) +
          "\" height=\"" + fixed_text(end, 1) + "\" fill=\"none\" stroke=\"#808080\"/>\n";
  double const width = (std::max)(left + end + 40 + name_length / 2, 560.0);
  return detail::svg_frame(
      width, top + end + 40, title,
      "accuracy " + detail::percent(matrix.accuracy()) + " of " + std::to_string(matrix.images()) + " images", body);
}

}  // namespace tutti::nn
