// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explanation.hpp"
#include "views.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inspect {

/// The word for an activity.
[[nodiscard]] inline std::string_view word(activity a) {
  constexpr std::array<std::string_view, 8> words{"unknown", "computes", "sleeps",   "lock",
                                                  "disk",    "stopped",  "debugger", "gone"};
  return words[static_cast<std::size_t>(a)];
}

/// The sentences, and a table of the ranks.
[[nodiscard]] inline std::string to_text(sight const& world) {
  using row = std::array<std::string, 6>;
  bool const has_hosts = std::any_of(world.views.begin(), world.views.end(),
                                     [&](view const& v) { return v.host != world.views.front().host; });
  std::vector<row> rows{
      {"communicator", "rank", has_hosts ? "host and pid" : "pid", "it", "last operation", "waits for"}};
  for (view const& v : world.views) {
    tutti::recorder::entry const* const waiting = waiting_operation(v, world.now);
    row r{v.name,
          std::to_string(v.rank) + " of " + std::to_string(v.size),
          (has_hosts ? v.host + " " : "") + std::to_string(v.pid),
          std::string(waiting != nullptr && (v.state == activity::sleeps || v.state == activity::unknown)
                          ? "waits"
                          : word(v.state)),
          "",
          ""};
    if (!v.has_record) {
      r[4] = v.is_seen ? "(no record)" : "(no dump)";
    } else if (!v.operations.empty()) {
      tutti::recorder::entry const& last = waiting != nullptr ? *waiting : v.operations.back();
      r[4] = "#" + std::to_string(last.number.sequence) + " " + last.text() + ": " +
             std::string(tutti::name(last.current_state));
    }
    if (waiting != nullptr) {
      r[5] = (v.noted_wait->peer == no_rank ? "any rank" : "rank " + std::to_string(v.noted_wait->peer)) + ", step " +
             std::to_string(v.noted_wait->step) + ", for " + text_of(world.now - v.noted_wait->begin);
    }
    rows.push_back(r);
  }
  std::string text;
  for (std::string const& sentence : explain(world)) {
    text += (text.empty() ? "" : "also: ") + sentence + "\n";
  }
  text += "\n";
  std::array<std::size_t, 6> widths{};
  for (row const& r : rows) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      widths[i] = (std::max)(widths[i], r[i].size());
    }
  }
  for (row const& r : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < r.size(); ++i) {
      line += " " + r[i] + std::string(widths[i] - r[i].size() + 1, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// The length of the character of UTF-8 at the beginning of a text; 0 if there is none.
[[nodiscard]] inline std::size_t character_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned const first = byte(0);
  std::size_t const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return 0;
    }
  }
  // Neither a longer spelling of a shorter character, nor half of a pair of UTF-16, nor beyond the last character.
  bool const is_wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90) || first > 0xf4;
  return is_wrong ? 0 : length;
}

/// A text in JSON; U+FFFD stands for each byte that belongs to no character.
[[nodiscard]] inline std::string quote(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    std::size_t const length = character_length(text);
    if (length == 0) {
      result += "\xef\xbf\xbd";
    } else if (length == 1) {
      result += text[0] == '"' || text[0] == '\\' ? "\\" : "";
      result += static_cast<unsigned char>(text[0]) < 0x20 ? '?' : text[0];
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + '"';
}

/// The sentences and the ranks as one object of JSON. Times are in seconds.
[[nodiscard]] inline std::string to_json(sight const& world) {
  auto const seconds = [](tutti::duration d) {
    std::string const milliseconds = std::to_string(d / std::chrono::milliseconds(1) % 1000);
    return std::to_string(d / std::chrono::seconds(1)) + "." + std::string(3 - milliseconds.size(), '0') + milliseconds;
  };
  auto const add_operation = [](std::string& text, tutti::recorder::entry const& e) {
    text += "{\"number\": " + std::to_string(e.number.sequence) + ", \"call\": " + quote(e.text()) +
            ", \"state\": " + quote(tutti::name(e.current_state)) + "}";
  };
  std::string text = "{\"sentences\": [";
  char const* comma = "";
  for (std::string const& sentence : explain(world)) {
    text += std::exchange(comma, ", ") + quote(sentence);
  }
  text += "], \"ranks\": [";
  char const* separator = "\n  ";
  for (view const& v : world.views) {
    text += std::exchange(separator, ",\n  ");
    text += "{\"communicator\": " + quote(v.name) + ", \"rank\": " + std::to_string(v.rank) +
            ", \"size\": " + std::to_string(v.size) + ", \"host\": " + quote(v.host) +
            ", \"pid\": " + std::to_string(v.pid) + ", \"thread\": " + std::to_string(v.thread) +
            ", \"has_record\": " + (v.has_record ? "true" : "false") + ", \"activity\": " + quote(word(v.state)) +
            ", \"channel\": " + quote(v.channel);
    if (tutti::recorder::entry const* const waiting = waiting_operation(v, world.now); waiting != nullptr) {
      text +=
          ", \"waits\": {\"for\": " + (v.noted_wait->peer == no_rank ? "null" : std::to_string(v.noted_wait->peer)) +
          ", \"step\": " + std::to_string(v.noted_wait->step) +
          ", \"seconds\": " + seconds(world.now - v.noted_wait->begin) + ", \"operation\": ";
      add_operation(text, *waiting);
      text += "}";
    }
    text += ", \"operations\": [";
    comma = "";
    for (tutti::recorder::entry const& e : v.operations) {
      text += std::exchange(comma, ", ");
      add_operation(text, e);
    }
    text += "]}";
  }
  return text + "]}";
}

}  // namespace inspect
