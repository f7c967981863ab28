// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/topology/selection.hpp>

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The schedule to use for an operation on vectors of `min_bytes` to `max_bytes` bytes, from the user or from a trial
/// of several choices.
struct preference {
  operation_kind operation = operation_kind::none;
  std::size_t min_bytes = 0;
  std::size_t max_bytes = SIZE_MAX;
  schedule_kind kind = schedule_kind::direct;
  std::size_t segment_bytes = 0;
  std::size_t trial_count = 0;  ///< the number of choices in the trial; 0 if the user set the preference
  friend bool operator==(preference const&, preference const&) = default;
};

/// An error in a text of preferences.
class preference_error : public std::runtime_error {
 public:
  explicit preference_error(std::string_view wish, std::string const& reason)
      : std::runtime_error("\"" + std::string(wish) + "\": " + reason +
                           "; write a preference as allreduce:1M-16M=ring/512K (sizes and segment are optional), and "
                           "separate several with semicolons") {}
};

namespace preference_text {

/// "4096", "64K", "1M", "1G".
inline bool read_bytes(std::string_view text, std::size_t& bytes) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  std::string_view const unit(end, text.size() - static_cast<std::size_t>(end - text.data()));
  int const shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (problem != std::errc{} || shift < 0 || bytes > SIZE_MAX >> 31) {
    return false;
  }
  bytes <<= shift;
  return true;
}

inline operation_kind read_operation(std::string_view text) {
  constexpr operation_kind operations[] = {
      operation_kind::allreduce, operation_kind::reduce, operation_kind::broadcast, operation_kind::reduce_scatter,
      operation_kind::allgather, operation_kind::gather, operation_kind::scatter,   operation_kind::alltoall,
      operation_kind::scan,      operation_kind::exscan};
  for (operation_kind const kind : operations) {
    if (name(kind) == text) {
      return kind;
    }
  }
  return operation_kind::none;
}

inline preference read_preference(std::string_view wish, host_map const& hosts) {
  preference p;
  std::size_t const colon = wish.find(':');
  std::size_t const equals = wish.find('=');
  std::string_view const operation = wish.substr(0, (std::min)(colon, equals));
  p.operation = read_operation(operation);
  if (equals == wish.npos || p.operation == operation_kind::none) {
    throw preference_error(wish, "\"" + std::string(operation) + "\" is not an operation with a choice of topologies");
  }
  if (colon < equals) {
    std::string_view const range = wish.substr(colon + 1, equals - colon - 1);
    std::size_t const dash = range.find('-');
    std::string_view const lower = range.substr(0, dash);
    std::string_view const upper = dash == range.npos ? lower : range.substr(dash + 1);
    if ((!lower.empty() && !read_bytes(lower, p.min_bytes)) || (!upper.empty() && !read_bytes(upper, p.max_bytes)) ||
        p.min_bytes > p.max_bytes) {
      throw preference_error(wish, "\"" + std::string(range) + "\" is not a range of sizes");
    }
  }
  std::string_view const schedule = wish.substr(equals + 1);
  std::size_t const slash = schedule.rfind('/');
  if (slash != schedule.npos && !read_bytes(schedule.substr(slash + 1), p.segment_bytes)) {
    throw preference_error(wish, "\"" + std::string(schedule.substr(slash + 1)) + "\" is not a segment size");
  }
  for (schedule_kind const kind : all_schedule_kinds) {
    if (selection(kind, &hosts).topology_name() == schedule.substr(0, slash)) {
      p.kind = kind;
      return p;
    }
  }
  throw preference_error(wish, "no topology is called \"" + std::string(schedule.substr(0, slash)) + "\"");
}

}  // namespace preference_text

/// "allreduce:524289-1048576=ring/65536".
[[nodiscard]] inline std::string to_text(preference const& p, host_map const& hosts) {
  return std::string(name(p.operation)) + ":" + std::to_string(p.min_bytes) + "-" + std::to_string(p.max_bytes) + "=" +
         std::string(selection(p.kind, &hosts).topology_name()) +
         (p.segment_bytes == 0 ? "" : "/" + std::to_string(p.segment_bytes));
}

/// Reads "allreduce:-4K=doubling; allreduce:1M-=ring/512K". Later preferences override earlier ones.
/// @throws preference_error
[[nodiscard]] inline std::vector<preference> read_preferences(std::string_view text, host_map const& hosts) {
  std::vector<preference> preferences;
  while (!text.empty()) {
    std::size_t const end = (std::min)(text.find(';'), text.size());
    std::string_view wish = text.substr(0, end);
    text.remove_prefix((std::min)(end + 1, text.size()));
    while (wish.starts_with(' ')) {
      wish.remove_prefix(1);
    }
    while (wish.ends_with(' ')) {
      wish.remove_suffix(1);
    }
    if (!wish.empty()) {
      preferences.push_back(preference_text::read_preference(wish, hosts));
    }
  }
  return preferences;
}

}  // namespace tutti::detail::tuning
