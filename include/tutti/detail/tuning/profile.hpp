// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/memory_kind.hpp>
#include <tutti/extend/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// What messages of a world take, as it was measured: a plain value, in picoseconds.
struct network_profile {
  /// What a message of this many bytes takes; see message_time.
  struct point {
    std::size_t bytes = 0;
    std::int64_t send = 0;
    std::int64_t lead = 0;
    std::int64_t wire = 0;
    std::int64_t receive = 0;
    std::int64_t combine = 0;    ///< the receiver's processor, where it combines and does not only store
    std::int64_t overwrite = 0;  ///< that, more or less, where this overwrites what it sends in that step
    std::int64_t loan = 0;       ///< both processors, all told, if it is lent or given back; 0: as any other message
    std::int64_t solo = 0;       ///< the same where its sender gets none meanwhile
    friend bool operator==(point const&, point const&) = default;
  };
  /// What one takes of an operation that only moves; see message_time.
  struct move {
    std::size_t bytes = 0;
    std::int64_t send = 0;
    std::int64_t lead = 0;
    std::int64_t delay = 0;  ///< beside the latency: takes no processor
    std::int64_t receive = 0;
    friend bool operator==(move const&, move const&) = default;
  };
  /// Messages between two ranks: straight lines between sizes that were measured.
  struct link {
    std::int64_t latency = 0;
    std::vector<point> points{};  ///< of growing sizes; empty: there are no such messages
    std::int64_t burst = 0;       ///< how much of `wire` an idle interface saves up; see message_time
    std::vector<move> moves{};    ///< of growing sizes; empty: they take what others take, which are stored
    friend bool operator==(link const&, link const&) = default;
  };

  rank_type ranks = 0;
  rank_type hosts = 0;
  std::int64_t start = 0;  ///< what starting an operation, or a segment of one, takes
  link within_host{};      ///< between ranks of one host
  link provided{};         ///< the same of memory_kind::provided; without points: it makes no difference
  link between_hosts{};    ///< between hosts
  link helper{};           ///< to a helper and from it, while all ranks do; without points: none helps

  [[nodiscard]] bool tells_apart() const noexcept { return !provided.points.empty(); }
  /// Between ranks of one host, of vectors that lie there.
  [[nodiscard]] link const& within_a_host(memory_kind where) const noexcept {
    return where == memory_kind::provided && tells_apart() ? provided : within_host;
  }
  friend bool operator==(network_profile const&, network_profile const&) = default;
};

/// A straight line through what two sizes take.
struct line_between {
  std::int64_t wide;    ///< the second size, from the first on
  std::int64_t target;  ///< the size that is asked for, from the first on
  [[nodiscard]] std::int64_t signed_at(std::int64_t from, std::int64_t to) const {
    std::int64_t const rise = to - from;
    return from + rise / wide * target + rise % wide * (target % wide) / wide + rise % wide * (target / wide);
  }
  [[nodiscard]] std::int64_t at(std::int64_t from, std::int64_t to) const {
    return std::max<std::int64_t>(signed_at(from, to), 0);
  }
};
/// Of several sizes, the second of those that it is about. @pre there are two
template <class Sizes>
[[nodiscard]] std::size_t end_of_line(Sizes const& all, std::size_t bytes) {
  std::size_t i = 1;
  while (i + 1 < all.size() && all[i].bytes < bytes) {
    ++i;
  }
  return i;
}

/// What a message of this many bytes takes on a link: between the sizes that were measured on straight lines,
/// beyond the last on the last line, before the first as much as the first.
[[nodiscard]] inline network_profile::point at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& all = link.points;
  if (all.empty()) {
    return {.bytes = bytes};
  }
  if (bytes <= all.front().bytes || all.size() == 1) {
    return all.front();
  }
  std::size_t const i = end_of_line(all, bytes);
  network_profile::point const& a = all[i - 1];
  network_profile::point const& b = all[i];
  line_between const line{static_cast<std::int64_t>(b.bytes - a.bytes), static_cast<std::int64_t>(bytes - a.bytes)};
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

/// The same of one that is only moved, but in proportion beyond the last size. @pre there are such sizes
[[nodiscard]] inline network_profile::move move_at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& all = link.moves;
  if (bytes <= all.front().bytes) {
    return all.front();
  }
  bool const beyond = bytes > all.back().bytes;
  std::size_t const i = end_of_line(all, bytes);
  network_profile::move const a = beyond || all.size() == 1 ? network_profile::move{} : all[i - 1];
  network_profile::move const& b = beyond ? all.back() : all[i];
  line_between const line{static_cast<std::int64_t>(b.bytes - a.bytes), static_cast<std::int64_t>(bytes - a.bytes)};
  return {bytes, line.at(a.send, b.send), line.at(a.lead, b.lead), line.at(a.delay, b.delay),
          line.at(a.receive, b.receive)};
}

}  // namespace tutti::detail::tuning
