// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/tuning/autotune.hpp>
#include <tutti/detail/tuning/explanation.hpp>
#include <tutti/detail/tuning/known_profiles.hpp>
#include <tutti/detail/tuning/profile_text.hpp>
#include <tutti/detail/tuning/tuner.hpp>
#include <tutti/detail/tuning/world_meter.hpp>
#include <tutti/extend/error.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// Sources of a world's profile for `automatic`.
struct automatic_options {
  /// A file for the profile. Rank 0 reads it, or, if it does not exist, writes the profile to it. Empty: no file.
  std::string file{};
  /// The approximate time for measuring the world. Slow networks take longer: a few dozen messages of 64 KiB are
  /// always measured.
  duration budget = std::chrono::milliseconds(20);
  bool remeasure = false;  ///< measure even if a profile is known
  /// Keep the profile for later worlds of this process over the same transport, with as many ranks on the same hosts.
  /// For programs that make many worlds, whose transports have the same options. Equal on all ranks.
  bool keep = false;
};

/// A topology that picks another one: for each operation, by its size, the schedule and the segment size with the
/// least predicted time in this world.
///
///     tutti::automatic best{world};  // measures for some milliseconds
///     tutti::allreduce sum{world, best, tutti::sum<float>{}};
///     tutti::broadcast share{world, best};
///     std::puts(sum.explain(1 << 20).c_str());
///
/// A world and its splits measure once: as many ranks on the same hosts share a profile.
///
/// All schedules are priced with one model (detail/tuning/timed_schedule.hpp) and the world's profile. Reductions that
/// do not commute get schedules that keep rank order. Copies share one state.
///
/// A preference takes precedence: `best.prefer("allreduce:1M-=ring/512K")`, or the variable TUTTI_AUTOMATIC. All ranks
/// must prefer the same, or the operation fails with an error that names both schedules. `best.autotune(world,
/// tutti::op::allreduce{}, gradients)` measures instead of predicting.
///
/// @pre the world outlives it
/// Cost: a table look-up, if the operation has run before with a vector of that size class (up to 1, 2, 4, ... bytes).
/// The first of a class prices all candidates: docs/guide/automatic.md.
/// Thread safety: as the communicator.
class automatic : public selection {
 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "automatic";
  /// The type that can hold any of the topologies.
  using schedule = selection;
  /// The effort of `autotune`.
  struct autotune_options {
    std::size_t ways = 8;      ///< maximum of candidates, those with the least predicted times
    double maximum_ratio = 3;  ///< maximum of a candidate's predicted time, relative to the fastest
    std::size_t turns = 7;     ///< number of trials for each candidate; their median counts
    duration turn = std::chrono::microseconds(500);  ///< approximate time for a trial; one operation at least
  };

  /// Measures the world, or reads its profile. Collective. @throws error, profile_error, preference_error: the last
  /// two on all ranks if on rank 0
  template <group Communicator>
  explicit automatic(Communicator& world, automatic_options const& options = {})
      : automatic(world, learn(world, options)) {}

  /// Uses an existing profile. Collective; all ranks must give the same.
  /// @throws profile_error on every rank if the profile is of another world, or ranks give different ones
  template <group Communicator>
  automatic(Communicator& world, network_profile existing_profile)
      : tuning_(std::make_shared<detail::tuner>(std::move(existing_profile), world.hosts(), memory_kind::ordinary)) {
    examine(world);
    char const* const wishes = std::getenv("TUTTI_AUTOMATIC");
    prefer(wishes == nullptr ? "" : wishes);
  }

  /// Makes a copy for operators whose vectors are in memory of another kind, on all ranks. It starts with the same
  /// profile and preferences; later preferences and autotuning apply to one of the two.
  ///
  ///     std::vector<float, tutti::allocator<float>> gradients(n, tutti::allocator<float>(world));
  ///     tutti::allreduce sum{world, best.for_memory(tutti::memory_kind::allocator), tutti::sum<float>{}};
  ///
  /// Vectors in other memory only cost speed. All ranks must pass the same kind; otherwise an operation for which they
  /// pick different schedules fails with an error that names both. Not collective; prices again, and measures nothing.
  [[nodiscard]] automatic for_memory(memory_kind kind_of_memory) const {
    auto copy = std::make_shared<detail::tuner>(profile(), tuning_->hosts(), kind_of_memory);
    copy->prefer(tuning_->preferences());
    return automatic(std::move(copy));
  }

  /// The measured profile of the world.
  [[nodiscard]] network_profile const& profile() const noexcept { return tuning_->profile(); }

  /// Writes the profile to a file.
  /// @throws profile_error if the file cannot be written
  void save(std::string const& path) const {
    if (int const code = detail::replace_file(path, detail::to_text(profile())); code != 0) {
      throw detail::profile_error("cannot write the profile to " + path + ": " + detail::describe_write_error(code));
    }
  }

  /// Prefers these schedules for these sizes, whatever their predicted times: "allreduce:-4K=doubling;
  /// broadcast:1M-=chain/64K". A schedule that cannot do an operation is ignored.
  /// @throws preference_error
  void prefer(std::string_view wishes) const { tuning_->prefer(detail::read_preferences(wishes, tuning_->hosts())); }

  /// Tries the candidates with the least predicted times for a vector of this length, in this memory, and picks the
  /// fastest from now on, for all vectors of its size class (up to 1, 2, 4, ... bytes). For vectors that matter: a
  /// trial includes effects beyond the profile, such as caches, the kind of memory and other load.
  ///
  ///     best.autotune(world, tutti::op::allreduce{}, gradients);
  ///
  /// Collective: with the same arguments on all ranks. Overwrites the elements of `scratch`, which an allreduce sums.
  /// Returns the result in the syntax of `prefer` and TUTTI_AUTOMATIC.
  /// @throws error
  /// Cost: 8 operations of each candidate, and its trials; by default, some 30 ms up to 64 KiB.
  template <group Communicator, class Op, mutable_buffer Buffer>
    requires std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>
  std::string autotune(Communicator& world, Op op, Buffer&& scratch, autotune_options const& effort) const {
    auto const vector = elements(scratch);
    expects(effort.ways > 0 && effort.turns > 0, "automatic: autotune_options::ways and turns must be 1 or more, not ",
            effort.ways, " and ", effort.turns);
    std::size_t const bytes = vector.size() * sizeof(vector[0]);
    using trials = detail::trials<Communicator>;
    auto ways = predict(
        op, bytes, {.may_aggregate = trials::template may_try_aggregators<Op, typename decltype(vector)::value_type>});
    auto const slow = std::find_if(ways.begin() + 1, ways.end(), [&](prediction const& candidate) {
      return static_cast<double>(candidate.time) > effort.maximum_ratio * static_cast<double>(ways.front().time);
    });
    ways.erase(slow, ways.end());
    ways.resize((std::min)(ways.size(), effort.ways));
    auto const& way = ways[trials(world).fastest(op, ways, vector, effort.turns, effort.turn)].way;
    auto const [begin, end] = detail::tuner::size_class(bytes);
    detail::preference const result{detail::verify::kind_of<Op>, begin,      end, way.topology.kind(),
                                    way.segment_bytes,           ways.size()};
    tuning_->prefer({result});
    return to_text(result, tuning_->hosts());
  }
  /// Tries candidates with the default effort.
  template <group Communicator, class Op, mutable_buffer Buffer>
    requires std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>
  std::string autotune(Communicator& world, Op op, Buffer&& scratch) const {
    return autotune(world, op, scratch, {});
  }

  /// This topology, which picks no in-network aggregator unless `demands::helped` allows it.
  [[nodiscard]] automatic without_aggregators() const { return *this; }
  /// The schedule and the segment size for an operation on this many bytes; equal on all ranks.
  template <class Op>
  [[nodiscard]] schedule_choice<selection> choose(Op op, std::size_t bytes, schedule_requirements needs = {}) const {
    return tuning_->choose(op, bytes, needs);
  }

  /// All candidates for an operation on this many bytes with their predicted times, fastest first.
  template <class Op>
  [[nodiscard]] std::vector<prediction> predict(Op op, std::size_t bytes, schedule_requirements needs = {}) const {
    return tuning_->predict(op, bytes, needs);
  }

  /// Describes the choice for this many bytes, its predicted time, the reason, and the alternatives.
  template <class Op>
  [[nodiscard]] std::string explain(Op op, std::size_t bytes, schedule_requirements needs = {}) const {
    return tutti::detail::explain(*tuning_, op, bytes, needs);
  }

 private:
  explicit automatic(std::shared_ptr<detail::tuner> tuning) : tuning_(std::move(tuning)) {}

  template <class Communicator>
  static network_profile learn(Communicator& world, automatic_options const& options) {
    std::string text;
    if (!options.file.empty()) {
      if (world.rank() == 0) {
        detail::standard_numbers const reservation;
        std::ifstream file(options.file, std::ios::binary);
        text.resize(detail::profile_text::longest);
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(file.gcount()));
      }
      share(world, text, 0);
    }
    if (text.empty()) {
      text = recall_or_measure(world, options);
      if (!options.file.empty() && world.rank() == 0) {
        static_cast<void>(detail::replace_file(options.file, text));  // on failure, the next run measures again
      }
    }
    return detail::read_profile(text);
  }

  /// Returns the profile text of the lowest rank that knows such hosts, so that all ranks have the same; if none does,
  /// measures.
  template <class Communicator>
  static std::string recall_or_measure(Communicator& world, automatic_options const& options) {
    auto& profiles = options.keep ? detail::kept_profiles<typename Communicator::transport_type>
                                  : detail::access::state(world).kin->template common<detail::known_profiles>();
    std::string const hosts = detail::known_profiles::hosts_of(world);
    std::string text = options.remeasure ? "" : profiles.find(hosts, options.budget);
    std::array<rank_type, 1> teller{text.empty() ? no_rank : world.rank()};
    allreduce{world, doubling{}, tutti::min<rank_type>{}}(teller);
    if (teller[0] != no_rank) {
      share(world, text, teller[0]);
    } else {
      text = detail::to_text(detail::world_meter<Communicator>(world).measure(options.budget));
    }
    profiles.learn(hosts, options.budget, text);
    return text;
  }

  /// Broadcasts the text of one rank to all.
  template <class Communicator>
  static void share(Communicator& world, std::string& text, rank_type teller) {
    broadcast give{world, doubling{}};
    std::array<std::uint64_t, 1> size{text.size()};
    give(size, teller);
    text.resize(detail::integer_cast<std::size_t>(size[0]));
    give(text, teller);
  }

  template <class Communicator>
  void examine(Communicator& world) const {
    std::uint32_t const print = hash(detail::to_text(profile()));
    allreduce least{world, doubling{}, tutti::min<std::uint32_t>{}};
    std::array<std::uint32_t, 2> extremes{print, ~print};
    least(extremes);
    if (extremes[0] != ~extremes[1]) {
      throw detail::profile_error("the profile of rank " + std::to_string(world.rank()) +
                                  " differs from that of another rank: give all ranks the same one");
    }
    if (profile().ranks != world.size() || profile().hosts != world.hosts().hosts()) {
      throw detail::profile_error("the profile is of " + std::to_string(profile().ranks) + " ranks on " +
                                  std::to_string(profile().hosts) + " hosts, and this world has " +
                                  std::to_string(world.size()) + " on " + std::to_string(world.hosts().hosts()) +
                                  ": measure it again");
    }
  }

  std::shared_ptr<detail::tuner> tuning_;
};

}  // namespace tutti
