// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tuning/profile.hpp>
#include <tutti/extend/types.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// An error in a profile file. The message names the line.
class profile_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace profile_text {

inline constexpr std::string_view title = "tutti-profile 7";
inline constexpr std::size_t max_points = 64;
inline constexpr std::size_t longest = std::size_t{1} << 17;  ///< bytes, more than all points of all links take

/// Reads a profile word by word.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  /// Reads a line that must equal `expected`.
  void line(std::string_view expected) {
    if (std::string_view const actual = next_line(); actual != expected) {
      fail("must be \"" + std::string(expected) + "\", not \"" + std::string(actual.substr(0, quote_length)) + "\"" +
           (line_ == 1 ? ", so this is not a profile of this version" : ""));
    }
  }
  /// Reads a line of `word` and N numbers.
  template <std::size_t N>
  void numbers(std::string_view word, std::int64_t (&values)[N]) {
    std::string_view const actual = next_line();
    std::string_view rest = actual;
    if (!rest.starts_with(word)) {
      fail("must begin with \"" + std::string(word) + "\": \"" + std::string(actual.substr(0, quote_length)) + "\"");
    }
    rest.remove_prefix(word.size());
    for (std::int64_t& value : values) {
      if (!word.empty() || &value != values) {
        if (!rest.starts_with(' ')) {
          fail("must hold " + std::to_string(N) + " numbers, not fewer: \"" +
               std::string(actual.substr(0, quote_length)) + "\"");
        }
        rest.remove_prefix(1);
      }
      auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      bool const may_be_negative = &value - values == 6;  // the price of overwriting may be negative
      if (problem != std::errc{} || value < (may_be_negative ? -price_limit : 0) || value > price_limit) {
        fail("must hold numbers from 0 to 2^50, not \"" +
             std::string(rest.substr(0, rest.find(' ')).substr(0, quote_length)) + "\"");
      }
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    if (!rest.empty()) {
      fail("must hold " + std::to_string(N) + " numbers, not more: \"" + std::string(actual.substr(0, quote_length)) +
           "\"");
    }
  }
  /// Reads a line of `word` and a number of ranks.
  rank_type ranks(std::string_view word) {
    std::int64_t value[1];
    numbers(word, value);
    if (value[0] >= 1 << 24) {
      fail("must name fewer than 2^24 " + std::string(word) + ", not " + std::to_string(value[0]));
    }
    return static_cast<rank_type>(value[0]);
  }
  [[noreturn]] void fail(std::string const& reason) const {
    throw profile_error("profile: line " + std::to_string(line_) + " " + reason +
                        "; measure the world again, or give another file");
  }

 private:
  std::string_view next_line() {
    ++line_;
    std::size_t const end = text_.find('\n');
    if (end == text_.npos) {
      fail("is missing: the text has been cut off");
    }
    std::string_view const line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return line;
  }

  static constexpr std::size_t quote_length = 60;  ///< characters of a line that a message quotes

  std::string_view text_;
  std::size_t line_ = 0;
};

/// Reads lines of N numbers. The first number is a size, the second the time to send it, the third the time until the
/// message begins to leave.
template <std::size_t N, class Take>
void read_sizes(reader& input, std::int64_t lines, Take const& take) {
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < lines; ++i) {
    std::int64_t v[N];
    input.numbers("", v);
    if (v[0] <= last || v[0] > size_limit) {
      input.fail("must begin with a size above that of the line before, " + std::to_string(last) +
                 ", and up to 2^30, not " + std::to_string(v[0]));
    }
    if (v[2] > v[1]) {
      input.fail("must say that a message of " + std::to_string(v[0]) +
                 " bytes begins to leave while it is sent, after " + std::to_string(v[1]) + " at most, not " +
                 std::to_string(v[2]));
    }
    last = v[0];
    take(static_cast<std::size_t>(v[0]), v);
  }
}

inline network_profile::link read_link(reader& input, std::string_view word) {
  std::int64_t head[4];
  input.numbers(word, head);
  if ((std::max)(head[2], head[3]) > static_cast<std::int64_t>(max_points)) {
    input.fail("must name at most " + std::to_string(max_points) + " sizes, not " +
               std::to_string((std::max)(head[2], head[3])));
  }
  network_profile::link link{.latency = head[0], .burst = head[1]};
  read_sizes<9>(input, head[2], [&](std::size_t bytes, auto const& v) {
    link.points.push_back({bytes, v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]});
  });
  read_sizes<5>(input, head[3], [&](std::size_t bytes, auto const& v) {
    link.moves.push_back({bytes, v[1], v[2], v[3], v[4]});
  });
  return link;
}

}  // namespace profile_text

/// The profile as text, for `read_profile`.
[[nodiscard]] inline std::string to_text(network_profile const& p) {
  std::string text(profile_text::title);
  auto const write = [&](std::string_view word, auto... numbers) {
    text += word;
    (text.append(text.back() == '\n' ? "" : " ").append(std::to_string(numbers)), ...);
    text += '\n';
  };
  auto const write_link = [&](std::string_view word, network_profile::link const& l) {
    write(word, l.latency, l.burst, l.points.size(), l.moves.size());
    for (network_profile::point const& point : l.points) {
      write("", point.bytes, point.send, point.lead, point.wire, point.receive, point.combine, point.overwrite,
            point.loan, point.solo);
    }
    for (network_profile::move const& move : l.moves) {
      write("", move.bytes, move.send, move.lead, move.delay, move.receive);
    }
  };
  text += '\n';
  write("ranks", p.ranks);
  write("hosts", p.hosts);
  write("start", p.start);
  write_link("near", p.within_host);
  write_link("allocator", p.allocator);
  write_link("far", p.between_hosts);
  write_link("aggregator", p.aggregator);
  return text + "end\n";
}

/// @throws profile_error if the text is cut off, is no profile, or has another version
[[nodiscard]] inline network_profile read_profile(std::string_view text) {
  profile_text::reader input(text);
  input.line(profile_text::title);
  network_profile p;
  p.ranks = input.ranks("ranks");
  p.hosts = input.ranks("hosts");
  std::int64_t start[1];
  input.numbers("start", start);
  p.start = start[0];
  p.within_host = profile_text::read_link(input, "near");
  p.allocator = profile_text::read_link(input, "allocator");
  p.between_hosts = profile_text::read_link(input, "far");
  p.aggregator = profile_text::read_link(input, "aggregator");
  input.line("end");
  return p;
}

}  // namespace tutti::detail::tuning
