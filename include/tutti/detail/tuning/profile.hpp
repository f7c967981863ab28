// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/network_profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The limit of every number of a profile, and of every price that follows from it; and that of the sizes. So the price
/// of a message never overflows.
inline constexpr std::int64_t price_limit = std::int64_t{1} << 50;
inline constexpr std::int64_t size_limit = std::int64_t{1} << 30;

/// Linear interpolation between the values at two sizes.
struct line_between {
  line_between(std::size_t first, std::size_t second, std::size_t bytes)
      : width(static_cast<std::int64_t>(second - first)),
        target(static_cast<std::int64_t>(std::min<std::uint64_t>(bytes - first, price_limit))) {}

  std::int64_t width;   ///< second size minus first size
  std::int64_t target;  ///< wanted size minus first size
  [[nodiscard]] std::int64_t signed_at(std::int64_t first, std::int64_t second) const {
    std::int64_t const rise = second - first;
    std::int64_t const remainder = rise % width * (target % width) / width;  // below size_limit squared
    std::int64_t whole = 0;
    std::int64_t multiple = 0;
    bool const is_far = __builtin_mul_overflow(rise / width, target, &whole) ||
                        __builtin_mul_overflow(rise % width, target / width, &multiple) ||
                        __builtin_add_overflow(whole, multiple, &whole) ||
                        __builtin_add_overflow(whole, first + remainder, &whole);
    return is_far ? (rise < 0 ? -price_limit : price_limit) : std::clamp(whole, -price_limit, price_limit);
  }
  [[nodiscard]] std::int64_t at(std::int64_t first, std::int64_t second) const {
    return std::max<std::int64_t>(signed_at(first, second), 0);
  }
};
/// The index of the upper of the two sizes between which `bytes` lies; the last size if it lies beyond.
/// @pre there are two sizes
template <class Sizes>
[[nodiscard]] std::size_t end_of_line(Sizes const& sizes, std::size_t bytes) {
  std::size_t i = 1;
  while (i + 1 < sizes.size() && sizes[i].bytes < bytes) {
    ++i;
  }
  return i;
}

/// The prices of a message of `bytes` bytes on a link: interpolated between the measured sizes, extrapolated beyond
/// the last, and those of the first size below it.
[[nodiscard]] inline network_profile::point at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& points = link.points;
  if (points.empty()) {
    return {.bytes = bytes};
  }
  if (bytes <= points.front().bytes || points.size() == 1) {
    return points.front();
  }
  std::size_t const i = end_of_line(points, bytes);
  network_profile::point const& a = points[i - 1];
  network_profile::point const& b = points[i];
  line_between const line(a.bytes, b.bytes, bytes);
  network_profile::point p{bytes,
                           line.at(a.send, b.send),
                           line.at(a.lead, b.lead),
                           line.at(a.wire, b.wire),
                           line.at(a.receive, b.receive),
                           line.at(a.combine, b.combine),
                           line.signed_at(a.overwrite, b.overwrite),
                           line.at(a.loan, b.loan),
                           line.at(a.solo, b.solo)};
  p.lead = (std::min)(p.lead, p.send);
  return p;
}

/// The prices of a message that is only moved: interpolated, but in proportion beyond the last size.
/// @pre sizes were measured
[[nodiscard]] inline network_profile::move move_at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& moves = link.moves;
  if (bytes <= moves.front().bytes) {
    return moves.front();
  }
  bool const is_beyond = bytes > moves.back().bytes;
  std::size_t const i = end_of_line(moves, bytes);
  network_profile::move const a = is_beyond || moves.size() == 1 ? network_profile::move{} : moves[i - 1];
  network_profile::move const& b = is_beyond ? moves.back() : moves[i];
  line_between const line(a.bytes, b.bytes, bytes);
  return {bytes, line.at(a.send, b.send), line.at(a.lead, b.lead), line.at(a.delay, b.delay),
          line.at(a.receive, b.receive)};
}

}  // namespace tutti::detail::tuning
