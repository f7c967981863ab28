// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/tuning/tuner.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/topology.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::inline tuning {

namespace explanation {

/// "12.3 us".
inline std::string in_words(std::int64_t picoseconds) {
  auto const microseconds = static_cast<double>(picoseconds) * 1e-6;
  return microseconds < 1000 ? general_text(microseconds, 3) + " us" : general_text(microseconds * 1e-3, 4) + " ms";
}

/// "64 KiB", "1000 bytes".
inline std::string bytes_in_words(std::size_t bytes) {
  for (auto const& [unit, shift] : {std::pair{" GiB", 30}, {" MiB", 20}, {" KiB", 10}}) {
    if (bytes != 0 && bytes % (std::size_t{1} << shift) == 0) {
      return std::to_string(bytes >> shift) + unit;
    }
  }
  return std::to_string(bytes) + " bytes";
}

inline std::string in_words(schedule_choice<selection> const& way) {
  std::string text(way.topology.topology_name());
  return way.segment_bytes == 0 ? text : text + " in segments of " + bytes_in_words(way.segment_bytes);
}

/// ", one with more than 1/4 of the elements", or nothing if blocks are about equal.
template <class Op>
std::string share_in_words(schedule_requirements needs) {
  bool const has_long_block = takes_partition<Op> && needs.share_class != 0;
  return has_long_block
             ? ", one with more than 1/" + std::to_string(std::uint64_t{1} << needs.share_class) + " of the elements"
             : "";
}

inline int percent(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<int>((100 * static_cast<double>(part)) / static_cast<double>(whole) + 0.5);
}

}  // namespace explanation

/// Explains the tuner's choice for an operation on `bytes` bytes.
template <class Op>
[[nodiscard]] std::string explain(tuner& t, Op op, std::size_t bytes, schedule_requirements needs) {
  using namespace explanation;
  schedule_choice<selection> const way = t.choose(op, bytes, needs);
  auto const s = t.analyse(op, bytes, needs, way);
  std::int64_t const latency = (std::min)(s.without_bytes, s.total);
  std::int64_t const combining =
      (std::min)(std::max<std::int64_t>(s.total - s.without_combining, 0), s.total - latency);
  std::int64_t const moving = s.total - latency - combining;
  char const* const bound = latency >= moving && latency >= combining ? "the latency of messages"
                            : moving >= combining                     ? "bandwidth"
                                                                      : "combining";
  std::string text = std::string(tutti::name(verify::kind_of<Op>)) + " of " + bytes_in_words(bytes) + " over " +
                     std::to_string(t.profile().ranks) + (t.profile().ranks == 1 ? " rank" : " ranks") +
                     share_in_words<Op>(needs) + ": " + in_words(way) + ", " + in_words(s.total) + " expected\n";
  if (t.memory() == memory_kind::allocator) {
    text += std::string("  for vectors by tutti::allocator") +
            (t.profile().tells_apart() ? "\n" : ", whose times are not in this profile: priced as others\n");
  } else if (t.profile().tells_apart()) {
    text +=
        "  for vectors in ordinary memory; if those of all ranks are by tutti::allocator, say "
        "for_memory(tutti::memory_kind::allocator)\n";
  }
  preference const* const wish = t.template find_preference<Op>(bytes, needs);
  text += "  because: " +
          (wish == nullptr ? "of all, it is expected to be the fastest for the longest of its class of sizes"
           : wish->trial_count == 0
               ? "it was told to"
               : "of the " + std::to_string(wish->trial_count) + " that were tried, it was the fastest") +
          "\n";
  text += std::string("  bound by ") + bound + ": " + std::to_string(percent(latency, s.total)) +
          " % would remain if messages were empty, " + std::to_string(percent(moving, s.total)) +
          " % is for moving bytes, " + std::to_string(percent(combining, s.total)) + " % for combining\n";
  auto const predictions = t.predict(op, bytes, needs);
  for (prediction const& p : predictions) {
    text += "  " + in_words(p.time) + "  " + in_words(p.way) + "\n";
  }
  return text;
}

}  // namespace tutti::detail::tuning
