// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// A stretch of time and what one rank used in it.
struct interval {
  std::int64_t begin = 0;  ///< time by now()
  std::int64_t end = 0;
  resource_usage usage{};
};

/// Results of one rank for a batch.
struct record {
  unsigned rank = 0;
  std::size_t iterations = 0;
  interval writing{};               ///< writing the inputs, as often, and nothing else
  interval loop{};                  ///< writing and operating
  std::int64_t operation_time = 0;  ///< nanoseconds within the operation; measured only with a barrier before each
  std::int64_t messages = -1;       ///< sent by this rank in all iterations; negative: not counted
  std::string error{};              ///< reason of a failure; the other members are then meaningless
};

inline std::string quote(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "\"";
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (code < 0x20) {
      result.append("\\u00").append({digits[code / 16], digits[code % 16]});
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// The record as one line of JSON.
inline std::string to_json(record const& r) {
  std::string text = "{\"rank\": " + std::to_string(r.rank);
  auto const number = [&text](char const* name, auto value) {
    text.append(", \"").append(name).append("\": ").append(std::to_string(value));
  };
  if (!r.error.empty()) {
    return text + ", \"error\": " + quote(r.error) + "}\n";
  }
  auto const stretch = [&](std::string const& name, interval const& i) {
    number((name + "_begin").c_str(), i.begin);
    number((name + "_end").c_str(), i.end);
    number((name + "_processor").c_str(), i.usage.processor);
    number((name + "_switches").c_str(), i.usage.switches);
  };
  number("iterations", r.iterations);
  stretch("writing", r.writing);
  stretch("loop", r.loop);
  number("alone", r.operation_time);
  if (r.messages >= 0) {
    number("messages", r.messages);
  }
  return text + "}\n";
}

}  // namespace bench
