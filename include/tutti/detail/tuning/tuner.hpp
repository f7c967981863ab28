// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/tuning/preference.hpp>
#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/profiled_network.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// Prices all schedules for a profile, and remembers its choices. All ranks with the same profile and preferences
/// choose alike, because only integers and no other inputs are used.
///
/// Vectors are grouped into size classes: up to 1, 2, 4, ... bytes, each priced as its longest, and partitions by the
/// share of the longest block, too. A rooted operation is priced for root 0.
class tuner {
 public:
  static constexpr std::array<std::size_t, 5> segment_sizes{0, 16 << 10, 64 << 10, 256 << 10, 1024 << 10};
  /// Schedules with more steps, of all ranks together, take longer to price than they could gain.
  static constexpr std::size_t max_steps = std::size_t{1} << 18;
  static constexpr std::size_t max_messages_in_segments = std::size_t{1} << 12;

  /// Chooses for vectors in memory `memory`. @pre the map outlives the tuner, and the profile is of the same world
  tuner(network_profile p, host_map const& hosts, memory_kind memory)
      : profile_(std::move(p)), hosts_(&hosts), memory_(memory) {}

  [[nodiscard]] network_profile const& profile() const noexcept { return profile_; }
  [[nodiscard]] host_map const& hosts() const noexcept { return *hosts_; }
  [[nodiscard]] memory_kind memory() const noexcept { return memory_; }
  [[nodiscard]] std::vector<preference> const& preferences() const noexcept { return preferences_; }

  /// Adds preferences; the last one that fits counts.
  void prefer(std::vector<preference> const& more) {
    preferences_.insert(preferences_.end(), more.begin(), more.end());
    cache_ = {};
  }

  /// The choice for vectors of `bytes` bytes. Takes some nanoseconds once the size class has been priced. Pricing
  /// allocates, and takes milliseconds for long vectors of many ranks: docs/guide/automatic.md.
  template <class Op>
  [[nodiscard]] schedule_choice<selection> choose(Op, std::size_t bytes, schedule_requirements needs) {
    if (preference const* const wish = find_preference<Op>(bytes, needs)) {
      return {selection(wish->kind, hosts_), wish->segment_bytes};
    }
    needs.share_class = (std::min)(needs.share_class, share_classes - 1);
    saved_choice& entry = cache_[static_cast<std::size_t>(verify::kind_of<Op>)][place_of(needs)][class_of(bytes)];
    if (!entry.is_known) {
      prediction const best = fastest(Op{}, std::size_t{1} << class_of(bytes), needs);
      entry = {true, best.way.topology.kind(), static_cast<std::uint32_t>(best.way.segment_bytes)};
    }
    return {selection(entry.kind, hosts_), entry.segment_bytes};
  }

  /// All choices for an operation, the fastest first.
  template <class Op>
  [[nodiscard]] std::vector<prediction> predict(Op op, std::size_t bytes, schedule_requirements needs) const {
    profiled_network const network(profile_, *hosts_, verify::kind_of<Op>, memory_);
    std::vector<timed_schedule> schedules;
    std::vector<prediction> predictions;
    std::optional<partition> const blocks = typical_blocks<Op>(bytes, needs);
    for (candidate const& c : candidates(network, op, bytes, blocks, needs, schedules)) {
      predictions.push_back(
          {c.way, schedules[c.schedule].time(network, bytes, c.priced_bytes, blocks ? &*blocks : nullptr)});
    }
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](auto const& a, auto const& b) { return a.time < b.time; });
    return predictions;
  }

  /// The first of `predict`. Choices whose lower bound exceeds the best time so far are not run.
  template <class Op>
  [[nodiscard]] prediction fastest(Op op, std::size_t bytes, schedule_requirements needs) const {
    profiled_network const network(profile_, *hosts_, verify::kind_of<Op>, memory_);
    std::vector<timed_schedule> schedules;
    std::optional<partition> const blocks = typical_blocks<Op>(bytes, needs);
    std::vector<candidate> const choices = candidates(network, op, bytes, blocks, needs, schedules);
    std::vector<std::size_t> by_least_time(choices.size());
    for (std::size_t i = 0; i != choices.size(); ++i) {
      by_least_time[i] = i;
    }
    std::stable_sort(by_least_time.begin(), by_least_time.end(),
                     [&](std::size_t a, std::size_t b) { return choices[a].least_time < choices[b].least_time; });
    std::size_t best = by_least_time.front();
    std::int64_t time = INT64_MAX;
    for (std::size_t const i : by_least_time) {
      if (choices[i].least_time > time) {
        break;
      }
      std::int64_t const price =
          schedules[choices[i].schedule].time(network, bytes, choices[i].priced_bytes, blocks ? &*blocks : nullptr);
      if (price < time || (price == time && i < best)) {
        best = i;
        time = price;
      }
    }
    return {choices[best].way, time};
  }

  /// The expected time of one choice, and its times on networks that are ideal in one respect.
  struct shares {
    std::int64_t total;
    std::int64_t without_bytes;      ///< if its messages were empty
    std::int64_t without_combining;  ///< if combining were free
  };
  template <class Op>
  [[nodiscard]] shares analyse(Op op, std::size_t bytes, schedule_choice<selection> const& way) const {
    profiled_network const network(profile_, *hosts_, verify::kind_of<Op>, memory_);
    timed_schedule schedule(way.topology, op, profile_.ranks);
    return {schedule.time(network, bytes, way.segment_bytes),
            schedule.time(ideal_network<true>{network}, bytes, way.segment_bytes),
            schedule.time(ideal_network<false>{network}, bytes, way.segment_bytes)};
  }

  /// The last preference that fits and can be followed, or null.
  template <class Op>
  [[nodiscard]] preference const* find_preference(std::size_t bytes, schedule_requirements needs) const {
    for (auto p = preferences_.rbegin(); p != preferences_.rend(); ++p) {
      if (p->operation == verify::kind_of<Op> && p->min_bytes <= bytes && bytes <= p->max_bytes &&
          is_candidate<Op>(p->kind, needs)) {
        return &*p;
      }
    }
    return nullptr;
  }

  /// The smallest and the largest number of bytes in a size class.
  struct sizes {
    std::size_t min_bytes;
    std::size_t max_bytes;
  };
  [[nodiscard]] static constexpr sizes size_class(std::size_t bytes) noexcept {
    std::size_t const c = class_of(bytes);
    return {c == 0 ? 0 : (std::size_t{1} << (c - 1)) + 1, std::size_t{1} << c};
  }

 private:
  struct saved_choice {
    bool is_known = false;
    schedule_kind kind = schedule_kind::direct;
    std::uint32_t segment_bytes = 0;  ///< one of segment_sizes
  };

  /// A network whose messages take as long as empty ones, or on which combining is free.
  template <bool Bytes>
  struct ideal_network {
    profiled_network const& network;
    [[nodiscard]] message_time message(rank_type a, rank_type b, std::size_t bytes, tutti::loan loan, bool solo) const {
      return network.message(a, b, Bytes ? 0 : bytes, loan, solo);
    }
    [[nodiscard]] std::int64_t combine(rank_type, rank_type, std::size_t, loan) const { return 0; }
    [[nodiscard]] std::int64_t overwrite(rank_type a, rank_type b, std::size_t bytes) const {
      return network.overwrite(a, b, Bytes ? 0 : bytes);
    }
    [[nodiscard]] rank_type port(rank_type a, rank_type b) const { return network.port(a, b); }
    [[nodiscard]] std::int64_t start() const { return network.start(); }
  };

  /// A choice with a lower bound of its time.
  struct candidate {
    schedule_choice<selection> way;
    std::size_t schedule;      ///< index into `schedules`
    std::size_t priced_bytes;  ///< segment size of its price
    std::int64_t least_time;   ///< lower bound of its price
  };
  template <class Op>
  [[nodiscard]] std::vector<candidate> candidates(profiled_network const& network, Op op, std::size_t bytes,
                                                  std::optional<partition> const& blocks, schedule_requirements needs,
                                                  std::vector<timed_schedule>& schedules) const {
    std::vector<candidate> result;
    for (schedule_kind const kind : all_schedule_kinds) {
      if (is_candidate<Op>(kind, needs)) {
        selection const s(kind, hosts_);
        // `direct` prices an alltoall with any number of ranks, and the steps of `doubling` take less time: most are
        // local.
        if (!result.empty() && !std::same_as<Op, op::alltoall> && steps(s, op) > max_steps) {
          continue;
        }
        timed_schedule& schedule = schedules.emplace_back(s, op, profile_.ranks);
        for (std::size_t const segment : segment_sizes) {
          partition const* const lengths = blocks ? &*blocks : nullptr;
          bool const may_cut = schedule.messages_in_segment() <= max_messages_in_segments && profile_.ranks > 1;
          // An operation for which no segments are picked cuts a long block all the same.
          std::size_t const priced_bytes = segment != 0 ? segment : blocks && may_cut ? segment_for(*blocks, 1) : 0;
          if (segment == 0 || (may_cut && schedule.segments(bytes, segment, lengths) > 1)) {
            result.push_back({{s, segment},
                              schedules.size() - 1,
                              priced_bytes,
                              schedule.least_time(network, bytes, priced_bytes, lengths)});
          }
        }
      }
    }
    return result;
  }

  /// The blocks that stand for a share class: the first has three quarters of the largest share of the class, and the
  /// others are equal. None if blocks are about equal.
  template <class Op>
  [[nodiscard]] std::optional<partition> typical_blocks(std::size_t bytes, schedule_requirements needs) const {
    rank_type const n = profile_.ranks;
    if (!takes_partition<Op> || needs.share_class == 0 || n < 2) {
      return std::nullopt;
    }
    std::vector<std::size_t> lengths(n);
    lengths[0] = bytes / 4 * 3 >> (needs.share_class - 1);
    for (rank_type r = 1; r < n; ++r) {
      lengths[r] = block_size(bytes - lengths[0], n - 1, r - 1);
    }
    return partition(lengths);
  }

  static constexpr std::size_t classes = 64;
  /// Share classes of partitions; the last one has all smaller shares, too.
  static constexpr std::uint32_t share_classes = 5;
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return bytes <= 1 ? 0 : std::min<std::size_t>(integer_cast<std::size_t>(std::bit_width(bytes - 1)), 50);
  }

  template <class Op>
  [[nodiscard]] bool is_candidate(schedule_kind kind, schedule_requirements needs) const {
    bool const groups = hosts_->hosts() > 1 && hosts_->hosts() < hosts_->ranks();
    bool const has_aggregators = needs.may_aggregate && !profile_.aggregator.points.empty();
    // The others forward blocks, so their ranks would have to know all lengths.
    bool const must_be_direct = std::same_as<Op, op::alltoall> && needs.share_class != 0;
    if ((selection::groups_hosts(kind) && !groups) || (kind == schedule_kind::in_network && !has_aggregators) ||
        (must_be_direct && kind != schedule_kind::direct)) {
      return false;
    }
    selection const s(kind, hosts_);
    return s.serves<Op>() && (!needs.in_rank_order || s.combines_in_rank_order<Op>(profile_.ranks));
  }
  [[nodiscard]] static constexpr std::size_t place_of(schedule_requirements needs) noexcept {
    return needs.share_class * 4 + (needs.in_rank_order ? 2U : 0U) + (needs.may_aggregate ? 1U : 0U);
  }

  template <class Op>
  [[nodiscard]] std::size_t steps(selection const& s, Op op) const {
    std::size_t sum = 0;
    for (rank_type r = 0; r < profile_.ranks; ++r) {
      sum += s.steps(op, profile_.ranks, r);
    }
    return sum;
  }

  network_profile profile_;
  host_map const* hosts_;
  memory_kind memory_;
  std::vector<preference> preferences_{};
  static constexpr std::size_t operations = static_cast<std::size_t>(operation_kind::split) + 1;
  std::array<std::array<std::array<saved_choice, classes>, 4 * share_classes>, operations> cache_{};
};

}  // namespace tutti::detail::tuning
